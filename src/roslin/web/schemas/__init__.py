"""The shapes of requests and of JSON answers; the OpenAPI document is made from them.

requests      a query, which melodies, how they are compared
melodies      a melody and its notes; a query as it was read; a file that was uploaded
lists         ranked and browsed lists, their filters and facets
explanations  a distance taken apart
attributions  whose music it is
refusals      the one shape of errors
server        what is served, and whether it is ready
"""
