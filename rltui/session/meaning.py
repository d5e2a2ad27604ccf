"""What the tags of a run mean: framework, algorithm, and an entry of the catalogue per tag."""

from __future__ import annotations

from rltui.catalogue import Catalogue
from rltui.config import Config
from rltui.session.derive import derive, distinguished
from rltui.session.documents import overridden
from rltui.session.run import RunView


class Interpreter:
    """Looks tags up as the user's configuration and command line want them. No state."""

    def __init__(
        self,
        catalogue: Catalogue,
        config: Config,
        framework: str | None = None,
        algorithm: str | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._config = config
        self._framework = framework
        self._algorithm = algorithm

    def interpret(self, view: RunView) -> None:
        """Recognise the framework from the set of tags and look every tag up."""
        points = view.points
        if not points.tags:
            return
        known = view.recognition = self._catalogue.recognise(
            [*points.tags, *(f"hyperparameter/{name}" for name in view.hyperparameters.values)],
            formats={s.format for s in points.files.sources.values()},
            framework=self._framework,
            algorithm=self._algorithm,
        )
        resolver = self._catalogue.resolver(known.framework, known.algorithm)
        infos = distinguished({tag: resolver.resolve(tag) for tag in points.tags})
        infos.update(derive(points.table, infos, self._catalogue.metrics))
        view.infos = {tag: overridden(info, self._config) for tag, info in infos.items()}
