"""Inline SVG: the score over the budget, the interval of the difference, and the rails of the lineage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skynet.runs.report.elements import Markup, join, tag
from skynet.runs.report.lineage import LineageRow
from skynet.runs.report.show import score, signed, whole

LANE_WIDTH = 16
_NODE_Y = 20


@dataclass(frozen=True, slots=True)
class _Frame:
    """A plot's area in pixels and the values at its edges."""

    width: int
    height: int
    left: int
    top: int
    right: int
    bottom: int
    x_end: float
    y_low: float
    y_high: float

    def x(self, value: float) -> float:
        return round(self.left + (self.width - self.left - self.right) * value / self.x_end, 1)

    def y(self, value: float) -> float:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return round(self.height - self.bottom - (self.height - self.top - self.bottom) * share, 1)


def score_curve(
    curve: Sequence[Mapping[str, Any]], versions: Sequence[Mapping[str, Any]], *, width: int, height: int, key: str
) -> Markup:
    """Draw the best mean on val over metric calls as steps, each version's own mean as a dot, both where it was known.

    `key` makes the ids of this drawing unique on its page. Needs at least one point with a `best_val`.
    """
    steps = [(point["metric_calls"], point["best_val"]) for point in curve if point.get("best_val") is not None]
    measured = [one for one in versions if None not in (one.get("val_at_call"), one.get("val"))]
    dots = [(one["val_at_call"], one["val"]) for one in measured]
    frame = _frame_around(steps, dots, width, height)
    last_x = max(x for x, _ in [*steps, *dots])
    line = f"M{frame.x(steps[0][0])} {frame.y(steps[0][1])}"
    line += "".join(f"H{frame.x(x)}V{frame.y(y)}" for x, y in steps[1:]) + f"H{frame.x(last_x)}"
    start, end = steps[0][1], steps[-1][1]
    told = f"The best mean on val went from {score(start)} to {score(end)} within {whole(last_x)} metric calls."
    return tag(
        "svg",
        tag("title", "Score over budget", id=f"{key}-title"),
        tag("desc", told, id=f"{key}-desc"),
        _grid(frame),
        tag("line", x1=frame.left, x2=width - frame.right, y1=frame.y(start), y2=frame.y(start), class_="base"),
        *(tag("circle", cx=frame.x(x), cy=frame.y(y), r=3, class_="dot") for x, y in dots),
        tag("path", d=line, class_="step"),
        tag("circle", cx=frame.x(last_x), cy=frame.y(end), r=4.5, class_="end"),
        tag("text", score(end), x=frame.x(last_x), y=frame.y(end) - 10, text_anchor="end", class_="strong"),
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
        class_="curve",
    )


def interval_plot(mean: float, low: float, high: float) -> Markup:
    """Draw a difference and its 95 % interval on a line that shows where no difference is."""
    width, height, margin, middle = 400, 84, 36, 34
    ends = [min(low, mean, 0.0), max(high, mean, 0.0)]
    spread = ends[1] - ends[0] or 1.0

    def x(value: float) -> float:
        return round(margin + (width - 2 * margin) * (value - ends[0]) / spread, 1)

    caps = [tag("line", x1=x(end), x2=x(end), y1=middle - 8, y2=middle + 8, class_="whisker") for end in (low, high)]
    return tag(
        "svg",
        tag("title", "The difference on test and its 95 % interval", id="interval-title"),
        tag("desc", f"Difference {signed(mean)}, from {signed(low)} to {signed(high)}.", id="interval-desc"),
        tag("line", x1=8, x2=width - 8, y1=middle, y2=middle, class_="grid"),
        tag("line", x1=x(0), x2=x(0), y1=6, y2=62, class_="zero"),
        tag("text", "no difference", x=_inside(x(0), width, 44), y=78, text_anchor="middle"),
        tag("line", x1=x(low), x2=x(high), y1=middle, y2=middle, class_="whisker"),
        *caps,
        tag("circle", cx=x(mean), cy=middle, r=6, class_="end"),
        tag("text", signed(mean), x=_inside(x(mean), width, 24), y=17, text_anchor="middle", class_="strong"),
        *_end_labels(x(low), x(high), x(0), (low, high)),
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_labelledby="interval-title interval-desc",
        class_="interval",
    )


def rails(row: LineageRow, lanes: int) -> Markup:
    """Draw one version's node and the lines that reach, leave and pass it; decoration, as the row names its parent."""

    def x(lane: int) -> float:
        return 10 + LANE_WIDTH * lane

    at = x(row.lane)

    def style(strong: bool) -> str:
        return "rail path" if strong else "rail"

    marks = []
    if row.from_lane is not None:
        begin = x(row.from_lane)
        bend = f"M{begin} 0C{begin} {_NODE_Y} {begin} {_NODE_Y} {at} {_NODE_Y}"
        marks.append(tag("path", d=bend, class_=style(row.on_path)))
    marks += [
        tag("line", x1=x(lane), x2=x(lane), y1=0, y2="100%", class_=style(lane == 0 and row.path_below))
        for lane in row.through
    ]
    if row.continues:
        strong = row.on_path and row.path_below
        marks.append(tag("line", x1=at, x2=at, y1=_NODE_Y, y2="100%", class_=style(strong)))
    marks.append(tag("circle", cx=at, cy=_NODE_Y, r=5, class_="node path" if row.on_path else "node"))
    return tag("svg", *marks, width=rails_width(lanes), height="100%", aria_hidden="true", class_="rails")


def rails_width(lanes: int) -> int:
    """Return the width in pixels that so many lanes take."""
    return 20 + LANE_WIDTH * (lanes - 1)


def _frame_around(
    steps: Sequence[tuple[float, float]], dots: Sequence[tuple[float, float]], width: int, height: int
) -> _Frame:
    values = [y for _, y in [*steps, *dots]]
    low, high = min(values), max(values)
    room = (high - low) * 0.12 or max(abs(high) * 0.1, 0.1)
    x_end = max(x for x, _ in [*steps, *dots]) or 1
    return _Frame(width, height, 48, 26, 18, 44, x_end, low - room, high + room)


def _grid(frame: _Frame) -> Markup:
    marks = []
    for value in _ticks(frame.y_low, frame.y_high, 5):
        y = frame.y(value)
        marks.append(tag("line", x1=frame.left, x2=frame.width - frame.right, y1=y, y2=y, class_="grid"))
        marks.append(tag("text", score(value), x=frame.left - 8, y=y + 4, text_anchor="end"))
    floor = frame.height - frame.bottom
    for value in _ticks(0, frame.x_end, 6 if frame.width > 500 else 4):
        marks.append(tag("text", whole(value), x=frame.x(value), y=floor + 18, text_anchor="middle"))
    marks.append(tag("line", x1=frame.left, x2=frame.width - frame.right, y1=floor, y2=floor, class_="axis"))
    middle = (frame.left + frame.width - frame.right) / 2
    marks.append(tag("text", "metric calls", x=middle, y=frame.height - 6, text_anchor="middle"))
    marks.append(tag("text", "mean on val", x=4, y=12))
    return join(marks)


def _ticks(low: float, high: float, wanted: int) -> list[float]:
    """Return round values between low and high, about as many as wanted."""
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _end_labels(low_x: float, high_x: float, zero_x: float, values: tuple[float, float]) -> list[Markup]:
    """Write the interval's ends under them, unless the two would touch each other or the line of no difference."""
    if high_x - low_x < 50:
        return []
    return [
        tag("text", signed(value), x=at, y=58, text_anchor="middle")
        for at, value in ((low_x, values[0]), (high_x, values[1]))
        if abs(at - zero_x) > 24
    ]


def _inside(x: float, width: int, half: int) -> float:
    return min(max(x, half), width - half)
