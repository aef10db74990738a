"""The compiled kernels: plain C, with one door for Python (`roslin.native.kernels`)."""
