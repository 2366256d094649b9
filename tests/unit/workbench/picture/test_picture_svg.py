"""Drawings as SVG."""

from dataclasses import replace
from xml.etree import ElementTree as ET

from cordwood.workbench.picture.log_picture import LogPicture
from cordwood.workbench.picture.picture_svg import picture_svg
from tests.unit.workbench.picture.test_picture_lines import picture

SVG = "{http://www.w3.org/2000/svg}"


def rectangles(drawn: LogPicture, css: str) -> list[ET.Element]:
    document = ET.fromstring(picture_svg(drawn))  # our own document
    return [each for each in document.iter(f"{SVG}rect") if each.get("class") == css]


def test_document_is_well_formed_and_has_a_rectangle_for_each_segment() -> None:
    drawn = replace(picture(100, 200, 50), path="/d/<t>&-0")

    assert len(rectangles(drawn, "data")) == len(rectangles(drawn, "size")) == 3


def test_segment_is_split_where_its_compacted_part_ends() -> None:
    drawn = picture(100, 200, cleaned_to=15)

    assert (len(rectangles(drawn, "compacted")), len(rectangles(drawn, "data"))) == (2, 1)


def test_marks_are_named() -> None:
    text = picture_svg(picture(100, 200, high_watermark=18, open=1))

    assert "18 high watermark" in text
    assert "12 open transaction of producer 7" in text


def test_segments_without_end_are_limited() -> None:
    assert len(rectangles(picture(*range(1, 500)), "size")) == 200
