"""What one file of a run told beside points. Owned by the RunData that has the file."""

from __future__ import annotations

from dataclasses import dataclass, field

from rltui.core.batch import Batch, LogTail, TextPoint

#: Characters of logged texts that are kept per file: samples may come with every step.
_TEXT_CHARACTERS = 1 << 20


@dataclass(slots=True)
class Facts:
    """Settings, texts and the end of one file; what goes with it when it changes the run."""

    generation: int = 0
    """How often its content began anew, as of the newest batch."""
    hparams: dict[str, object] = field(default_factory=dict)
    texts: list[TextPoint] = field(default_factory=list)
    tail: LogTail | None = None
    """How it ends, if it is a console log."""
    exit_code: int | None = None
    """How the training ended, if it is a tracker's and says so."""
    _whole: bool = False
    """Whether it had been read to its end when the exit code came."""

    def take(self, batch: Batch) -> None:
        """Take one batch in."""
        self.generation = batch.generation
        self.hparams.update(batch.hparams)
        self._take_texts(batch)
        if batch.tail is not None:
            self.tail = batch.tail
        if batch.exit_code is not None:
            self.exit_code, self._whole = batch.exit_code, not batch.more
        elif batch.items and self._whole:
            self.exit_code = None  # it is written on: the training was resumed
        elif not batch.more:
            self._whole = self.exit_code is not None

    def _take_texts(self, batch: Batch) -> None:
        self.texts.extend(batch.texts)
        held = 0
        for index in range(len(self.texts) - 1, -1, -1):
            held += len(self.texts[index].text)
            if held > _TEXT_CHARACTERS:
                del self.texts[: index + 1]
                break
