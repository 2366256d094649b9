"""Code generator for writers: one function per message and version.

    def write(o, out, left=UNLIMITED):      appends to `out`, the first of the returned chunks
        try:
            chunks = [out]
            ...
            b1 = o.transactional_id.encode(); n2 = len(b1)
            out += pack3(o.acks, n2 + 1 if n2 < 127 else n2 + 1 & 127 | 128)
            if n2 > 126:
                out += tail_of_string_length(n2 + 1)
            out += b1
            ...
        except UNWRITABLE as error:
            raise unwritable(error, "ProduceRequest v9") from error
        return chunks

Everything is inlined. Adjacent fields of fixed size, with the first byte of a following length, are
written by one `struct` call. Record sets become chunks of their own. A value in a field that this
version lacks raises an error, unless it is the default or the field is ignorable. `left` counts
down the elements of all lists.
"""

from struct import Struct as Layout
from typing import Final

from cordwood.protocol import primitives
from cordwood.protocol.codegen_source import GeneratedSource
from cordwood.protocol.schema import Field, ListOf, Message, Struct, WireKind, default_struct
from cordwood.protocol.wire_types import RECORDS, STRING, UUID, FixedSizeType, LengthPrefixedType

_NAMES: Final = {
    "UNLIMITED": primitives.UNLIMITED,
    "UNWRITABLE": primitives.UNWRITABLE,
    "put_records": primitives.put_records,
    "refuse_elements": primitives.refuse_elements,
    "refuse_field": primitives.refuse_field,
    "refuse_uuid": primitives.refuse_uuid,
    "size_of_part": primitives.size_of_part,
    "tail_of_length": primitives.tail_of_length,
    "tail_of_string_length": primitives.tail_of_string_length,
    "tail_of_tags": primitives.tail_of_tags,
    "unwritable": primitives.unwritable,
}


class WriteSource(GeneratedSource):
    """Source of one writer, `write`; the batch collects the fields of the next `struct` call."""

    def __init__(self, kind: type[Message], version: int) -> None:
        super().__init__(_NAMES)
        self._title = f"{kind.__name__} v{version}"
        self._version = version
        self._is_flexible = kind.__schema__.is_flexible_in(version)
        self._batch: list[tuple[str, str]] = []
        with self.block("def write(o, out, left=UNLIMITED):"):
            with self.block("try:"):
                self.line("chunks = [out]")
                self._struct(kind, "o")
                self._flush()
            with self.block("except UNWRITABLE as error:"):
                self.line(f"raise unwritable(error, {self._title!r}) from error")
            self.line("return chunks")

    def _struct(self, kind: type[Struct], name: str) -> None:
        tagged = []
        for field in kind.__schema__.fields:
            value = f"{name}.{field.name}"
            if not field.is_in(self._version):
                self._absent(field, value)
            elif field.is_tagged_in(self._version):
                tagged.append(field)
            else:
                self._field(field, value)
        if self._is_flexible:
            self._tags(name, tagged)
            return
        with self.block(f"if {name}.unknown_tags:"):
            self.line(f"refuse_field('tagged fields', {self._title!r})")

    def _absent(self, field: Field, value: str) -> None:
        if field.is_ignorable:
            return
        with self.block(f"if {self._differs(field, value)}:"):
            self.line(f"refuse_field({field.name!r}, {self._title!r})")

    def _differs(self, field: Field, value: str) -> str:
        """Return the test for a value other than the field's default."""
        if field.default is None:
            return f"{value} is not None"
        if isinstance(field.kind, type):
            return f"{value} != {self.constant('default', default_struct(field.kind))}"
        return f"{value} != {field.default!r}"

    def _field(self, field: Field, value: str) -> None:
        if isinstance(field.kind, type) and field.has_null_marker_in(self._version):
            self._marked_struct(field, field.kind, value)
            return
        is_nullable = field.is_nullable_in(self._version)
        is_flexible = self._is_flexible and field.is_flexible
        self._value(field.kind, value, is_nullable=is_nullable, is_flexible=is_flexible)

    def _marked_struct(self, field: Field, kind: type[Struct], value: str) -> None:
        self._flush()
        null = 0 if field.is_tagged_in(self._version) else 0xFF
        with self.block(f"if {value} is None:"):
            self.line(f"out.append({null})")
        with self.block("else:"):
            self.line("out.append(1)")
            self._value(kind, value, is_nullable=False, is_flexible=self._is_flexible)
            self._flush()

    def _value(self, kind: WireKind, value: str, *, is_nullable: bool, is_flexible: bool) -> None:
        if kind is UUID:
            self._uuid(value)
        elif isinstance(kind, FixedSizeType):
            self._batch.append((kind.format, value))
        elif isinstance(kind, type):
            name = self.variable("o")
            self.line(f"{name} = {value}")
            self._struct(kind, name)
        elif isinstance(kind, ListOf):
            self._list(kind, value, is_nullable=is_nullable, is_flexible=is_flexible)
        else:
            self._sized(kind, value, is_nullable=is_nullable, is_flexible=is_flexible)

    def _uuid(self, value: str) -> None:
        name = self.variable("u")
        self.line(f"{name} = {value}")
        with self.block(f"if len({name}) != {UUID.size}:"):
            self.line(f"refuse_uuid({name})")
        self._batch.append((UUID.format, name))

    def _sized(
        self, kind: LengthPrefixedType, value: str, *, is_nullable: bool, is_flexible: bool
    ) -> None:
        name, length = self.variable("b"), self.variable("n")
        size = "size_of_part" if kind is RECORDS else "len"
        measure = f"{length} = {size}({name})"
        if kind is STRING:
            measure = f"{name} = {name}.encode(); {measure}"
        self.line(f"{name} = {value}")
        if is_nullable:
            with self.block(f"if {name} is None:"):
                self.line(f"{name} = b''; {length} = -1")
            with self.block("else:"):
                self.line(measure)
        else:
            self.line(measure)
        self._length(kind, length, is_flexible=is_flexible)
        self.line(f"out = put_records(chunks, {name})" if kind is RECORDS else f"out += {name}")

    def _list(self, kind: ListOf, value: str, *, is_nullable: bool, is_flexible: bool) -> None:
        elements, length = self.variable("list"), self.variable("n")
        self.line(f"{elements} = {value}")
        if is_nullable:
            with self.block(f"if {elements} is None:"):
                self.line(f"{elements} = (); {length} = -1")
            with self.block("else:"):
                self.line(f"{length} = len({elements})")
        else:
            self.line(f"{length} = len({elements})")
        self.line(f"left -= {length}")
        with self.block("if left < 0:"):
            self.line("refuse_elements()")
        self._length(kind, length, is_flexible=is_flexible)
        if isinstance(kind.element, FixedSizeType) and kind.element is not UUID:
            arrays = self.constant("arrays", primitives.ArrayLayouts(kind.element.format))
            self.line(f"out += {arrays}[len({elements})].pack(*{elements})")
            return
        element = self.variable("e")
        with self.block(f"for {element} in {elements}:"):
            self._value(kind.element, element, is_nullable=False, is_flexible=is_flexible)
            self._flush()

    def _length(self, kind: LengthPrefixedType | ListOf, length: str, *, is_flexible: bool) -> None:
        if not is_flexible:
            self._batch.append((kind.prefix, length))
            self._flush()
            return
        self._first_byte(f"{length} + 1")
        with self.block(f"if {length} > 126:"):
            tail = "tail_of_string_length" if kind is STRING else "tail_of_length"
            self.line(f"out += {tail}({length} + 1)")

    def _first_byte(self, number: str) -> None:
        """Write the first byte of an unsigned varint, and the batch before it."""
        self._batch.append(("B", f"{number} if {number} < 128 else {number} & 127 | 128"))
        self._flush()

    def _tags(self, name: str, tagged: list[Field]) -> None:
        tags = self.variable("tags")
        self.line(f"{tags} = {name}.unknown_tags")
        for field in tagged:
            self._tagged(field, f"{name}.{field.name}", tags)
        self._first_byte(f"len({tags})")
        with self.block(f"if {tags}:"):
            self.line(f"out += tail_of_tags({tags})")

    def _tagged(self, field: Field, value: str, tags: str) -> None:
        """Write a tagged field into its own bytes, unless it has its default."""
        self._flush()
        kept = self.variable("kept")
        with self.block(f"if {self._differs(field, value)}:"):
            self.line(f"{kept} = out; out = bytearray()")
            self._field(field, value)
            self._flush()
            self.line(f"{tags} = (*{tags}, ({field.tag}, out)); out = {kept}")

    def _flush(self) -> None:
        """Write the fields in the batch."""
        formats = "".join(format_ for format_, _ in self._batch)
        values = ", ".join(value for _, value in self._batch)
        self._batch.clear()
        if formats == "B":
            self.line(f"out.append({values})")
        elif formats:
            self.line(f"out += {self.constant('pack', Layout(f'>{formats}').pack)}({values})")
