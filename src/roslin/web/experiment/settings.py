"""What an operator of a study decides, as one value that also travels to worker processes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Self
from urllib.parse import urlsplit

from roslin.errors import ArgumentError
from roslin.web.settings import check_proxies

STUDY_VARIABLE = "ROSLIN_EXPERIMENT_SETTINGS"


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """Where the study is, and how much anybody may ask of it. Sizes in bytes."""

    folder: str
    database: str = ""  # the file in the folder, unless there is another
    public_address: str = ""  # what people type, where that is not what the server is asked: https://study.example.org
    hosts: tuple[str, ...] = ()  # the names that it answers to; empty: any
    requests_per_minute: int = 1200  # of one expert, or of one address without an expert; 0: no limit
    joins: int = 60  # by the open invitation, from one address in ten minutes; 0: no limit
    proxies: tuple[str, ...] = ()  # addresses and networks whose word about who asks is taken
    body_bytes: int = 256 * 1024
    session_days: float = 30.0  # after that, the personal link must be followed again
    warm_up: bool = True  # draw everything at the start
    log_requests: bool = True

    def __post_init__(self) -> None:
        check_proxies(self.proxies)
        parts = urlsplit(self.public_address)
        is_plain = parts.scheme in ("http", "https") and parts.netloc and not (parts.query or parts.fragment)
        if self.public_address and (not is_plain or parts.path.strip("/")):
            raise ArgumentError(
                f"the public address must be one like https://study.example.org; got {self.public_address!r}"
            )

    def to_environment(self) -> str:
        """As text, for a worker process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Self:
        """The settings that the parent process left in the environment."""
        values = json.loads(os.environ[STUDY_VARIABLE])
        return cls(**{**values, "hosts": tuple(values["hosts"]), "proxies": tuple(values["proxies"])})
