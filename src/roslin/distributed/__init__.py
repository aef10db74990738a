"""The same work on many processes and many computers, through Dask: what comes out is the same, to the byte."""

from roslin.distributed.cluster import Cluster, ClusterWork

__all__ = ["Cluster", "ClusterWork"]
