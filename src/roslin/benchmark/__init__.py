"""The test bed: tasks with known answers, every matcher, one table.

queries     forms of a melody that people ask for: pieces of it, typed with mistakes, sung
tasks       collections, queries and their truths, made of public data
results     the tasks put to matchers; what comes out, beside what others have measured
"""

from __future__ import annotations

from roslin.benchmark.results import Benchmark, run_benchmark
from roslin.benchmark.tasks import TASKS, BenchmarkTask, Sources

__all__ = ["TASKS", "Benchmark", "BenchmarkTask", "Sources", "run_benchmark"]
