"""Code generator for readers: one function per message and version.

    def read(data, at, left=UNLIMITED):     data is a view of bytes, `at` where the message begins
        end = len(data)
        try:
            o1 = new(kind2)
            ...
            o1.acks, o1.timeout_ms, n5 = unpack6(data, at); at += 7
            if n5 > 127:
                n5, at = varint(data, at - 1, end)
            ...
            return o1, at
        except UNREADABLE as error:
            raise unreadable(error, at, end) from error

Everything is inlined. Adjacent fields of fixed size, with the first byte of a following length, are
read by one `struct` call that stores into the object. A read past the end is detected by `struct`,
by an index, or by the comparison before every slice and every loop. `left` counts down the
elements of all lists, before each list is read.
"""

from struct import Struct as Layout
from typing import Final

from cordwood.core.binary import read_unsigned_varint
from cordwood.protocol import primitives
from cordwood.protocol.codegen_source import GeneratedSource
from cordwood.protocol.schema import Field, ListOf, Message, Struct, WireKind, default_source
from cordwood.protocol.wire_types import STRING, FixedSizeType, LengthPrefixedType

_NAMES: Final = {
    "UNLIMITED": primitives.UNLIMITED,
    "UNREADABLE": primitives.UNREADABLE,
    "new": object.__new__,
    "read_string_length": primitives.read_string_length,
    "read_tag": primitives.read_tag,
    "read_unknown_tags": primitives.read_unknown_tags,
    "refuse_elements": primitives.refuse_elements,
    "refuse_length": primitives.refuse_length,
    "refuse_tag_end": primitives.refuse_tag_end,
    "unreadable": primitives.unreadable,
    "varint": read_unsigned_varint,
}


class ReadSource(GeneratedSource):
    """Source of one reader, `read`; the batch collects the fields of the next `struct` call."""

    def __init__(self, kind: type[Message], version: int) -> None:
        super().__init__(_NAMES)
        self._version = version
        self._is_flexible = kind.__schema__.is_flexible_in(version)
        self._batch: list[tuple[str, str]] = []
        with self.block("def read(data, at, left=UNLIMITED):"):
            self.line("end = len(data)")
            with self.block("try:"):
                self._struct(kind, "top")
                self._flush()
                self.line("return top, at")
            with self.block("except UNREADABLE as error:"):
                self.line("raise unreadable(error, at, end) from error")

    def _struct(self, kind: type[Struct], name: str) -> None:
        """Create an object named `name`, and read its fields."""
        self.line(f"{name} = new({self.constant('kind', kind)})")
        self.line(f"{name}.unknown_tags = ()")
        tagged = []
        for field in kind.__schema__.fields:
            target = f"{name}.{field.name}"
            is_tagged = field.is_tagged_in(self._version)
            if field.is_in(self._version) and not is_tagged:
                self._field(field, target)
                continue
            self.line(f"{target} = {default_source(field, self)}")
            if field.is_in(self._version):
                tagged.append(field)
        if self._is_flexible:
            self._tags(name, tagged)

    def _field(self, field: Field, target: str) -> None:
        if isinstance(field.kind, type) and field.has_null_marker_in(self._version):
            self._marked_struct(field.kind, target, is_null=self._null_marker(field))
            return
        is_nullable = field.is_nullable_in(self._version)
        is_flexible = self._is_flexible and field.is_flexible
        self._value(field.kind, target, is_nullable=is_nullable, is_flexible=is_flexible)

    def _null_marker(self, field: Field) -> str:
        """Read the null marker of a struct, and return the test for null."""
        marker = self.variable("marker")
        is_tagged = field.is_tagged_in(self._version)
        self._batch.append(("B" if is_tagged else "b", marker))
        self._flush()
        return f"not {marker}" if is_tagged else f"{marker} < 0"

    def _marked_struct(self, kind: type[Struct], target: str, *, is_null: str) -> None:
        with self.block(f"if {is_null}:"):
            self.line(f"{target} = None")
        with self.block("else:"):
            self._value(kind, target, is_nullable=False, is_flexible=self._is_flexible)
            self._flush()

    def _value(self, kind: WireKind, target: str, *, is_nullable: bool, is_flexible: bool) -> None:
        if isinstance(kind, FixedSizeType):
            self._batch.append((kind.format, target))
        elif isinstance(kind, type):
            name = self.variable("o")
            self._struct(kind, name)
            self.line(f"{target} = {name}")
        else:
            length = self._length(kind, is_flexible=is_flexible)
            if is_nullable:
                with self.block(f"if {length} < 0:"):
                    self.line(f"{target} = None")
                with self.block("else:"):
                    self._body(kind, target, length, is_flexible=is_flexible)
            else:
                self._body(kind, target, length, is_flexible=is_flexible)

    def _length(self, kind: LengthPrefixedType | ListOf, *, is_flexible: bool) -> str:
        """Read a length, -1 for null, and return its name."""
        length = self.variable("n")
        if not is_flexible:
            self._batch.append((kind.prefix, length))
            self._flush()
            return length
        self._batch.append(("B", length))
        self._flush()
        with self.block(f"if {length} > 127:"):
            read = "read_string_length" if kind is STRING else "varint"
            self.line(f"{length}, at = {read}(data, at - 1, end)")
        self.line(f"{length} -= 1")
        return length

    def _body(
        self, kind: LengthPrefixedType | ListOf, target: str, length: str, *, is_flexible: bool
    ) -> None:
        if isinstance(kind, ListOf):
            self._elements(kind.element, target, length, is_flexible=is_flexible)
            return
        to = self.variable("to")
        self.line(f"{to} = at + {length}")
        with self.block(f"if not at <= {to} <= end:"):
            self.line(f"refuse_length(at, {length}, most=end - at)")
        value = f"str(data[at:{to}], 'utf-8')" if kind is STRING else f"data[at:{to}]"
        self.line(f"{target} = {value}; at = {to}")

    def _elements(self, kind: WireKind, target: str, length: str, *, is_flexible: bool) -> None:
        """Read a list's elements; the count is checked against the remaining bytes."""
        least = self._least(kind, is_flexible=is_flexible)
        with self.block(f"if not 0 <= {length} * {least} <= end - at:"):
            self.line(f"refuse_length(at, {length}, most=(end - at) // {least})")
        self._count(length)
        if isinstance(kind, FixedSizeType) and len(kind.format) == 1:
            arrays = self.constant("arrays", primitives.ArrayLayouts(kind.format))
            self.line(f"{target} = list({arrays}[{length}].unpack_from(data, at))")
            self.line(f"at += {length} * {least}")
            return
        elements, element = self.variable("list"), self.variable("e")
        self.line(f"{target} = {elements} = []")
        with self.block(f"for _ in range({length}):"):
            if isinstance(kind, type):
                self._struct(kind, element)
            else:
                self._value(kind, element, is_nullable=False, is_flexible=is_flexible)
            self._flush()
            self.line(f"{elements}.append({element})")

    def _count(self, length: str) -> None:
        """Count elements that are about to be read."""
        self.line(f"left -= {length}")
        with self.block("if left < 0:"):
            self.line("refuse_elements()")

    def _least(self, kind: WireKind, *, is_flexible: bool) -> int:
        """Return a value's minimum size in bytes, at least one, so that loops are bounded."""
        if isinstance(kind, FixedSizeType):
            return kind.size
        if not isinstance(kind, type):
            return 1 if is_flexible else Layout(kind.prefix).size
        fields = [
            1
            if field.has_null_marker_in(self._version)
            else self._least(field.kind, is_flexible=is_flexible and field.is_flexible)
            for field in kind.__schema__.fields
            if field.is_in(self._version) and not field.is_tagged_in(self._version)
        ]
        return max(sum(fields) + self._is_flexible, 1)

    def _tags(self, name: str, tagged: list[Field]) -> None:
        count = self.variable("n")
        self._batch.append(("B", count))
        self._flush()
        with self.block(f"if {count}:"):
            if not tagged:
                self.line(f"{name}.unknown_tags, at = read_unknown_tags(data, at - 1, end, left)")
                self.line(f"left -= len({name}.unknown_tags)")
                return
            unknown, to = self.variable("unknown"), self.variable("to")
            self.line(f"{count}, at = varint(data, at - 1, end); {unknown} = []")
            self._count(count)
            with self.block(f"for _ in range({count}):"):
                self.line(f"tag, at, {to} = read_tag(data, at, end)")
                self._tagged(name, tagged, to)
                with self.block("else:"):
                    self.line(f"{unknown}.append((tag, bytes(data[at:{to}]))); at = {to}")
            self.line(f"{name}.unknown_tags = tuple({unknown})")

    def _tagged(self, name: str, tagged: list[Field], to: str) -> None:
        """Read the value of the declared field with this tag."""
        for number, field in enumerate(tagged):
            with self.block(f"{'elif' if number else 'if'} tag == {field.tag}:"):
                self._field(field, f"{name}.{field.name}")
                self._flush()
                with self.block(f"if at != {to}:"):
                    self.line(f"refuse_tag_end(at, {to})")

    def _flush(self) -> None:
        """Read the fields in the batch."""
        formats = "".join(format_ for format_, _ in self._batch)
        targets = ", ".join(target for _, target in self._batch)
        self._batch.clear()
        if formats == "B":
            self.line(f"{targets} = data[at]; at += 1")
        elif formats:
            layout = Layout(f">{formats}")
            unpack = self.constant("unpack", layout.unpack_from)
            self.line(f"({targets},) = {unpack}(data, at); at += {layout.size}")
