"""Roslin's measures for users of ir_measures: after this import they are known there by name.

    import ir_measures, roslin.interop.ir_bridge
    ir_measures.calc_aggregate([ir_measures.parse_measure("ADR@10")], qrels, run)

A relevance of the qrels becomes a group, the largest first. Only names that ir_measures does not have are added. Its
own stay what they are. A query without a relevant document is left out of the mean, as everywhere in Roslin.

All measures of a call see the same list: as trec_eval has it, which computes most of theirs. Tied scores are sorted by
id, the larger first, and a document with the id of its query remains (`roslin.evaluate.rankings`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from typing import Any, ClassVar

from roslin.errors import MissingExtraError
from roslin.evaluate.measures.base import MEASURES, EmptyTruthWarning, Measure
from roslin.evaluate.rankings import hits_of_run, in_trec_order, judge
from roslin.run import Run
from roslin.truth.model import Truth

try:
    import ir_measures
    from ir_measures import providers
    from ir_measures.measures import MeanAgg, ParamInfo
    from ir_measures.measures import Measure as TheirMeasure
    from ir_measures.measures import register as register_theirs
    from ir_measures.measures import registry as their_measures
    from ir_measures.providers.base import Any as AnyValue
except ImportError:
    raise MissingExtraError("the bridge", "ir_measures", "ir_measures") from None

_CUTOFF = {"k": "cutoff"}


class _Mean(MeanAgg):  # type: ignore[misc]  # their classes have no types
    def add(self, value: float) -> None:
        if not math.isnan(value):
            super().add(value)


def _theirs(cls: type[Measure]) -> TheirMeasure:
    """A measure of theirs with the parameters of one of ours; k is called cutoff there."""
    parameters = {}
    for field in fields(cls):
        default = {} if field.default in (None, MISSING) else {"default": field.default}
        parameters[_CUTOFF.get(field.name, field.name)] = ParamInfo(desc=field.name, **default)
    members = {
        "NAME": cls.name,
        "__name__": cls.name,
        "__doc__": cls.__doc__,
        "PRETTY_NAME": cls.name,
        "SHORT_DESC": cls.summary,
        "SUPPORTED_PARAMS": parameters,
        "aggregator": lambda self: _Mean(),  # noqa: ARG005
    }
    return type(f"_{cls.name}", (TheirMeasure,), members)()


def _ours(measure: TheirMeasure) -> Measure:
    names = {theirs: ours for ours, theirs in _CUTOFF.items()}
    return MEASURES[measure.NAME](**{names.get(name, name): value for name, value in measure.params.items()})


class RoslinProvider(providers.Provider):  # type: ignore[misc]  # their classes have no types
    """Computes Roslin's measures for ir_measures."""

    NAME = "roslin"
    SUPPORTED_MEASURES: ClassVar[list[Any]] = []

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> Any:
        relevance = ir_measures.util.QrelsConverter(qrels).as_dict_of_dict()
        return _Evaluator(list(measures), Truth.from_relevance(relevance))


class _Evaluator(providers.Evaluator):  # type: ignore[misc]  # their classes have no types
    def __init__(self, measures: list[Any], truth: Truth):
        super().__init__(measures, set(truth))
        self.truth = truth

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        lists = in_trec_order(Run(ir_measures.util.RunConverter(run).as_dict_of_dict(), kind="score"))
        hits = hits_of_run(judge(self.truth, "keep"), lists, expected=False)
        for each in self.measures:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyTruthWarning)  # the value itself reports it
                values = _ours(each).values(hits)
            for query, value in zip(self.truth, values.tolist(), strict=True):
                yield ir_measures.Metric(query_id=query, measure=each, value=value)


def _register() -> tuple[str, ...]:
    added = [cls for name, cls in MEASURES.items() if name not in their_measures]
    for cls in added:
        theirs = _theirs(cls)
        register_theirs(theirs)
        RoslinProvider.SUPPORTED_MEASURES.append(theirs(**{name: AnyValue() for name in theirs.SUPPORTED_PARAMS}))
    provider = RoslinProvider()
    providers.register(provider)
    ir_measures.DefaultPipeline.providers.append(provider)
    return tuple(cls.name for cls in added)


NAMES = _register()
