"""The test bed: tasks with known answers, every matcher, one table."""

from __future__ import annotations

from roslin.benchmark.results import Benchmark, run_benchmark
from roslin.benchmark.tasks import TASKS, BenchmarkTask, Sources

__all__ = ["TASKS", "Benchmark", "BenchmarkTask", "Sources", "run_benchmark"]
