"""Makes the SVG of a chart small: leaves out what is not seen, not needed or repeated, and turns colours into classes.

Only elements and attributes that are named here pass, so that a picture can load nothing, run nothing and style
nothing. Marks of data keep their text as `data-label`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

from s3bench.report.page.outline import circle_radius, render_number, shortened
from s3bench.report.page.theme import INKS

_PASSED_ON = frozenset(
    {
        "class", "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap",
        "stroke-linejoin", "fill-opacity", "stroke-opacity", "text-anchor", "font-size", "font-weight", "font-style",
    }
)  # fmt: skip
"""Attributes that a group passes on to what is in it."""
_OWN = frozenset(
    {
        "id", "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "dx", "dy", "width", "height", "opacity",
        "transform", "clip-path", "offset", "stop-color", "data-label", "gradientUnits",
    }
)  # fmt: skip
_KNOWN = (_PASSED_ON | _OWN) - {"class", "data-label"}
"""What may come in; classes and words of marks are ours alone."""
_DEFAULTS = MappingProxyType(
    {
        "opacity": {"1"}, "fill-opacity": {"1"}, "stroke-opacity": {"1"}, "stroke-width": {"1"},
        "fill": {"none", "transparent"}, "stroke": {"none", "transparent"},
        "stroke-dasharray": {"", "1,0", "none"}, "stroke-dashoffset": {"0"}, "stroke-linecap": {"butt"},
        "stroke-linejoin": {"miter"}, "text-anchor": {"start"}, "font-weight": {"normal"}, "font-size": {"12px"},
        "font-style": {"normal"},
    }
)  # fmt: skip
"""What an attribute is without being said; the style of `svg.chart` sets 12 px, `fill: none` and the font."""
_SHAPES = frozenset({"path", "rect", "line", "circle"})
_ELEMENTS = _SHAPES | {"g", "text", "tspan", "defs", "clipPath", "linearGradient", "stop"}
_RGB = re.compile(r"rgba?\((\d+), *(\d+), *(\d+)\)")
_URL = re.compile(r"url\(['\"]?#([\w-]+)['\"]?\)")
_TRANSLATION = re.compile(r"translate\((-?[\d.e-]+), *(-?[\d.e-]+)\)")
_FRACTION = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_INK_OF = {ink.light: name for name, ink in INKS.items()}
_INVISIBLE = frozenset({None, "", "none", "transparent"})


@dataclass(slots=True)
class _Node:
    """An element of the picture on its way to being small."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["_Node"] = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The inside of an SVG element, and its size in pixels."""

    width: float
    height: float
    inside: str


def shrink(svg: str, *, prefix: str, has_labels: bool = True) -> Picture:
    """Make the SVG of a chart small; the ids in it begin with `prefix`. The paper behind it is left out.

    Without labels, marks that have words are named as such and do not hold them.
    """
    root = ET.fromstring(svg)  # noqa: S314 (our own chart's, as vl-convert wrote it)
    nodes = [
        node
        for child in root
        if _tag(child) != "rect"  # the paper
        for node in _simplified(child, prefix)
    ]
    if not has_labels:
        _without_labels(nodes)
    inside = "".join(_written(node) for node in nodes)
    return Picture(width=float(root.attrib["width"]), height=float(root.attrib["height"]), inside=inside)


def _without_labels(nodes: Iterable[_Node]) -> None:
    for node in nodes:
        if "data-label" in node.attributes:
            node.attributes["data-label"] = ""
        _without_labels(node.children)


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _simplified(element: ET.Element, prefix: str, *, is_clip: bool = False) -> list[_Node]:
    """The nodes that take the element's place: one, none, or what was in a group that said nothing."""
    tag = _tag(element)
    is_mark = element.get("role") == "graphics-symbol" and tag in _SHAPES | {"text"}
    label = element.get("aria-label", "") if is_mark else ""
    is_seen = is_clip or bool(label) or _is_seen(element, tag)
    if tag not in _ELEMENTS or element.get("display") == "none" or not is_seen:
        return []
    node = _Node(tag, _attributes(element, prefix), text=(element.text or "") if tag in {"text", "tspan"} else "")
    if label:
        node.attributes["data-label"] = label
    _place(node)
    node.children = [each for child in element for each in _simplified(child, prefix, is_clip=tag == "clipPath")]
    if tag == "text":
        _place_lines(node)
    return _grouped(node) if tag == "g" else [node]


def _is_seen(element: ET.Element, tag: str) -> bool:
    """Whether an element draws anything itself, or may hold what does."""
    if tag not in _SHAPES:
        return tag != "text" or bool(element.text) or len(element) > 0
    is_painted = element.get("fill") not in _INVISIBLE or element.get("stroke") not in _INVISIBLE
    return is_painted and element.get("opacity") != "0" and (tag != "path" or bool(element.get("d")))


def _attributes(element: ET.Element, prefix: str) -> dict[str, str]:
    """What of an element's attributes is known, says something, and is not the default; colours become classes."""
    is_stroked = element.get("stroke") not in _INVISIBLE
    attributes: dict[str, str] = {}
    classes = []
    for name, value in element.attrib.items():
        if name not in _KNOWN or value in _DEFAULTS.get(name, ()):
            continue
        if name in {"fill", "stroke"}:
            color = _hexadecimal(value)
            if color in _INK_OF:
                classes.append(f"{name[0]}-{_INK_OF[color]}")
            else:
                attributes[name] = _URL.sub(rf"url(#{prefix}\1)", color)
        elif is_stroked or not name.startswith("stroke-"):
            attributes[name] = _short(name, value, prefix)
    if classes:
        attributes["class"] = " ".join(classes)
    return attributes


def _short(name: str, value: str, prefix: str) -> str:
    match name:
        case "d" | "transform":
            return value  # `_place` makes them short
        case "id":
            return prefix + value
        case "clip-path":
            return _URL.sub(rf"url(#{prefix}\1)", value)
        case "stop-color":
            return _hexadecimal(value)
        case "offset" | "opacity" | "fill-opacity" | "stroke-opacity":
            return f"{float(value):.3g}"
    return _FRACTION.sub(lambda match: render_number(float(match[0])), value.removesuffix("px"))


def _hexadecimal(color: str) -> str:
    match = _RGB.fullmatch(color)
    return color if match is None else "#" + "".join(f"{int(part):02x}" for part in match.groups())


def _place(node: _Node) -> None:
    """Say where a shape or a text is by its own coordinates rather than by a transformation, rounded."""
    attributes = node.attributes
    transform = attributes.pop("transform", "")
    match = _TRANSLATION.fullmatch(transform)
    across, down = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    if (transform and match is None) or (node.tag not in {"line", "path", "text"} and (across, down) != (0.0, 0.0)):
        attributes["transform"] = _FRACTION.sub(lambda each: render_number(float(each[0])), transform)
        across = down = 0.0
    if node.tag == "line":
        node.tag = "path"
        x2, y2 = float(attributes.pop("x2", 0)), float(attributes.pop("y2", 0))
        attributes["d"] = shortened(f"M0,0l{x2:f},{y2:f}", (across, down))
    elif node.tag == "path":
        _place_path(node, across, down)
    elif node.tag == "text" and match is not None:
        attributes |= {"x": render_number(across), "y": render_number(down)}


def _place_lines(node: _Node) -> None:
    """The lines of a text begin where the text does."""
    across = float(node.attributes.get("x", 0))
    for line in node.children:
        if "x" in line.attributes:
            line.attributes["x"] = render_number(float(line.attributes["x"]) + across)


def _place_path(node: _Node, across: float, down: float) -> None:
    data = node.attributes.pop("d")
    radius = circle_radius(data)
    if radius is None:
        node.attributes["d"] = shortened(data, (across, down))
    else:
        node.tag = "circle"
        node.attributes |= {"cx": render_number(across), "cy": render_number(down), "r": render_number(radius)}


def _grouped(group: _Node) -> list[_Node]:
    """A group with what its children share; without it where it says nothing, or holds one child alone."""
    group.children = list(_joined(group.children))
    if not group.children:
        return []
    shared = set.intersection(*(set(child.attributes.items()) for child in group.children))
    if len(group.children) > 1:
        for name, value in sorted(shared):
            if name in _PASSED_ON and name not in group.attributes:
                group.attributes[name] = value
                for child in group.children:
                    del child.attributes[name]
    if not group.attributes:
        return group.children
    if len(group.children) == 1:
        return [_united(group, group.children[0])]
    return [group]


def _united(group: _Node, child: _Node) -> _Node:
    """One node for a group and its only child, where nothing that both say differs."""
    both = group.attributes.keys() & child.attributes.keys()
    is_moved_text = child.tag != "g" and "transform" in group.attributes
    if "clip-path" in both or "opacity" in both or is_moved_text or child.tag in {"defs", "clipPath"}:
        group.children = [child]
        return group
    if "transform" in both and "clip-path" in group.attributes | child.attributes:
        group.children = [child]
        return group
    transform = group.attributes.get("transform", "") + child.attributes.get("transform", "")
    child.attributes = group.attributes | child.attributes
    if transform:
        child.attributes["transform"] = transform
    return child


def _joined(nodes: Iterable[_Node]) -> Iterable[_Node]:
    """Neighbours that are strokes of one kind, as ticks and grid lines, become one path."""

    def kind(node: _Node) -> tuple[object, ...]:
        rest = tuple(sorted((name, value) for name, value in node.attributes.items() if name != "d"))
        return node.tag, rest, "data-label" in node.attributes

    for _, run in groupby(nodes, key=kind):
        first, *others = run
        if others and first.tag == "path" and _is_stroke(first.attributes):
            first.attributes["d"] += "".join(other.attributes["d"] for other in others)
            yield first
        else:
            yield first
            yield from others


def _is_stroke(attributes: Mapping[str, str]) -> bool:
    is_filled = "fill" in attributes or attributes.get("class", "").startswith("f-")
    return not is_filled and "data-label" not in attributes and "transform" not in attributes


def _written(node: _Node) -> str:
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in node.attributes.items())
    inside = escape(node.text) + "".join(_written(child) for child in node.children)
    return f"<{node.tag}{attributes}>{inside}</{node.tag}>" if inside else f"<{node.tag}{attributes}/>"
