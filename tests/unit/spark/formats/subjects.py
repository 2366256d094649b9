"""Schemas of subjects, as a registry has them."""

from collections.abc import Mapping

from cordwood.spark.formats.schema_source import SchemaText, UnknownSchemaError


class Subjects:
    """A source of versions of subjects; their ids are the numbers of their places."""

    def __init__(self, texts: Mapping[tuple[str, int], SchemaText]) -> None:
        self._texts = dict(texts)

    def by_id(self, schema_id: int) -> SchemaText:
        texts = [*self._texts.values()]
        if not 0 < schema_id <= len(texts):
            raise UnknownSchemaError("the registry has none")
        return texts[schema_id - 1]

    def by_version(self, subject: str, version: int) -> SchemaText:
        found = self._texts.get((subject, version))
        if found is None:
            raise UnknownSchemaError(f"the registry has no version {version} of {subject}")
        return found

    def id_of(self, name: int | str | None) -> int:
        subjects = [subject for subject, _ in self._texts]
        return name if isinstance(name, int) else len(subjects) - subjects[::-1].index(str(name))
