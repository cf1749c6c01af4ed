"""Path data (SVG 2, section 9.3), written in fewer characters.

Each command is written with absolute or relative coordinates, and in the shorter form (H, V, S, T) where that reaches
the same points. Browsers add relative coordinates in single precision: so does the verification. With a shift of 0
all points are the very same there; otherwise numbers have as few decimals as the shift allows, counted from the
rounded points, so that errors do not add up.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache, lru_cache, partial
from math import atan2, ceil, cos, hypot, log10, radians, remainder, sin, sqrt, tau

from adaptc.formats.svg.parse import NUMBER

__all__ = ["is_same_path", "shorten_path"]

_Command = tuple[str, tuple[str, ...]]
_Point = tuple[float, float]
# The letter of a command with absolute coordinates, and its arguments as coordinates; H and V are L, S is C, T is Q
_Reached = tuple[str, tuple[float, ...]]

_SPACE = " \t\r\n\f"
_COMMAND = re.compile(rf"([MmZzLlHhVvCcSsQqTtAa])[{_SPACE}]*([^MmZzLlHhVvCcSsQqTtAa]*)")
_COMMA = rf"(?:[{_SPACE}]+(?:,[{_SPACE}]*)?|,[{_SPACE}]*)?"
_ONE = re.compile(NUMBER + _COMMA)
_FLAG = "([01])" + _COMMA
_ARC = re.compile((NUMBER + _COMMA) * 3 + _FLAG * 2 + (NUMBER + _COMMA) * 2)
_ARGUMENTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "A": 7, "Z": 0}
# The meaning of an omitted letter after another, where it is not the same: coordinates after a moveto are linetos.
_IMPLIED = {"M": "L", "m": "l"}
_FORMS = {"C": "SC", "Q": "TQ"}
_SHORT = {"S": "C", "T": "Q"}
# Longer numbers and exponents, which single precision might not hold, are left alone
_MOST_DIGITS = 26
_MOST_EXPONENT = 5
# More decimals that are tried than the shift allows
_MORE_DECIMALS = 3
_SINGLE = struct.Struct("f")


def shorten_path(data: str, shift: float = 0, keeps_letters: bool = False) -> str:
    """Return shorter path data with the same commands, none of whose points is off by more than ``shift``.

    What is malformed is returned as it is: browsers draw up to the error.
    """
    commands = _parse_path(data)
    if commands is None:
        return data
    path = _Path(commands, keeps_letters)
    fewest = max(0, ceil(-log10(2 * shift))) if shift else path.decimals
    tries = [(count, shift) for count in range(fewest, min(fewest + _MORE_DECIMALS, path.decimals))]
    for count, allowed in (*tries, (path.decimals, 0.0)):
        shorter = _rewrite(path, count, allowed)
        if shorter is not None:
            return min(shorter, data, key=len)
    return data


def is_same_path(before: str, after: str, shift: float) -> bool:
    """Whether a browser draws both alike, no point off by more than ``shift``."""
    if before == after:
        return True
    commands, others = _parse_path(before), _parse_path(after)
    if commands is None or others is None or len(commands) != len(others):
        return False
    return any(_is_near_path(commands, others, allowed) for allowed in dict.fromkeys((shift, 0.0)))


def _is_near_path(commands: list[_Command], others: list[_Command], shift: float) -> bool:
    start = other = (0.0, 0.0)
    for goal, reached in zip(_goals(commands, shift), _points(others, _single_of, _single), strict=True):
        if not _is_near(start, goal, other, reached, shift):
            return False
        start, other = _end(goal), _end(reached)
    return True


def _parse_path(data: str) -> list[_Command] | None:
    """Return commands, each with the arguments of one, as written; ``None`` if the data is malformed."""
    text = data.strip(_SPACE)
    commands: list[_Command] = []
    end = 0
    for found in _COMMAND.finditer(text):
        letter, arguments = found.groups()
        one = _parse_arguments(letter, arguments)
        if found.start() != end or one is None:
            return None
        end = found.end()
        commands += one
    return commands if end == len(text) and commands and commands[0][0] in "Mm" else None


def _parse_arguments(letter: str, text: str) -> list[_Command] | None:
    arity = _ARGUMENTS[letter.upper()]
    if arity == 0:
        return None if text else [(letter, ())]
    item = _ARC if letter in "Aa" else _ONE
    numbers: list[str] = []
    at = 0
    while at < len(text):
        found = item.match(text, at)
        if found is None:
            return None
        numbers += found.groups()
        at = found.end()
    if any(_is_out_of_range(number) for number in numbers):
        return None
    if not numbers or len(numbers) % arity or text.rstrip(_SPACE).endswith(","):
        return None
    letters = (letter, *(_IMPLIED.get(letter, letter),) * (len(numbers) // arity))
    return [(letters[at // arity], tuple(numbers[at : at + arity])) for at in range(0, len(numbers), arity)]


def _is_out_of_range(number: str) -> bool:
    exponent = number.lower().partition("e")[2]
    return len(number) > _MOST_DIGITS or abs(int(exponent or 0)) > _MOST_EXPONENT


def _decimals(command: _Command) -> int:
    """Return the most decimals of a command's coordinates."""
    return max((_count_decimals(number) for number in command[1][-2 if command[0] in "Aa" else 0 :]), default=0)


def _count_decimals(number: str) -> int:
    mantissa, _, exponent = number.lower().partition("e")
    return max(0, len(mantissa.partition(".")[2]) - int(exponent or 0))


def _scaled(number: str, decimals: int) -> int:
    if "e" in number or "E" in number:
        return int(Decimal(number).scaleb(decimals))
    whole, _, fraction = number.partition(".")
    return int(f"{whole}{fraction.ljust(decimals, '0')}")


def _single(value: float) -> float:
    value_read: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return value_read


def _single_of(number: str) -> float:
    return _single(float(number))


class _Pen:
    """Where drawing a path has come to; ``rounded`` is applied to each sum."""

    def __init__(self, rounded: Callable[[float], float]) -> None:
        self.rounded = rounded
        # Of type int, which is exact where all coordinates are
        self.x: float = 0
        self.y: float = 0
        self._start: _Point = (0, 0)
        self._control: _Point = (0, 0)
        self._drawn = ""

    def reach(self, letter: str, values: Sequence[float]) -> _Reached:
        kind, x, y, rounded = letter.upper(), self.x, self.y, self.rounded
        if kind == "Z":
            return kind, self._start
        kept, moved = (values[:5], values[5:]) if kind == "A" else ((), values)
        if letter.islower():
            offsets = (y, x) if kind == "V" else (x, y)
            moved = [rounded(value + offsets[at % 2]) for at, value in enumerate(moved)]
        if kind in "HV":
            return "L", (moved[0], y) if kind == "H" else (x, moved[0])
        if kind in _SHORT:
            kind = _SHORT[kind]
            control = self._control
            kept = (rounded(2 * x - control[0]), rounded(2 * y - control[1])) if self._drawn == kind else (x, y)
        return kind, (*kept, *moved)

    def draw(self, reached: _Reached) -> None:
        self._drawn, values = reached
        self.x, self.y = values[-2:]
        if self._drawn in "CQ":
            self._control = (values[-4], values[-3])
        elif self._drawn == "M":
            self._start = (self.x, self.y)


def _points(
    commands: list[_Command], read: Callable[[str], float], rounded: Callable[[float], float]
) -> list[_Reached]:
    pen = _Pen(rounded)
    points = []
    for letter, numbers in commands:
        points.append(pen.reach(letter, [read(number) for number in numbers]))
        pen.draw(points[-1])
    return points


def _goals(commands: list[_Command], shift: float) -> list[_Reached]:
    """Return the points that must be reached: those of a browser, or with a shift the exact ones."""
    return _points(commands, float, lambda value: value) if shift else _points(commands, _single_of, _single)


class _Path:
    """``points`` are exact, in units of the last of ``decimals``."""

    def __init__(self, commands: list[_Command], keeps_letters: bool) -> None:
        self.commands = commands
        self.keeps_letters = keeps_letters
        self.decimals = max(map(_decimals, commands))
        self.points = _points(commands, partial(_scaled, decimals=self.decimals), lambda value: value)
        self.goals = cache(partial(_goals, commands))


def _end(reached: _Reached) -> _Point:
    return reached[1][-2], reached[1][-1]


def _is_near(start: _Point, goal: _Reached, other: _Point, reached: _Reached, shift: float) -> bool:
    """Whether one command draws the same; a Bézier curve is nowhere farther off than its points are."""
    if goal[0] != reached[0]:
        return False
    if not shift:
        return goal == reached
    if goal[0] == "A":
        return goal[1][:5] == reached[1][:5] and _is_arc_near(start, goal[1], other, reached[1], shift)
    return all(abs(one - two) <= shift for one, two in zip(goal[1], reached[1], strict=True))


def _is_arc_near(
    start: _Point, before: tuple[float, ...], other: _Point, after: tuple[float, ...], shift: float
) -> bool:
    """Whether the centres, radii and angles of two arcs are so close that no point of one is off by more."""
    one, two = _arc(start, before), _arc(other, after)
    if one is None or two is None:
        return False
    (x, y, width, height, angle, turn), (x_2, y_2, width_2, height_2, angle_2, turn_2) = one, two
    radii = max(abs(width - width_2), abs(height - height_2))
    angles = abs(remainder(angle - angle_2, tau)) + abs(turn - turn_2)
    return hypot(x - x_2, y - y_2) + radii + max(width, height) * angles <= shift


def _arc(start: _Point, values: tuple[float, ...]) -> tuple[float, ...] | None:
    """Return the centre, the radii, the first angle and the turn of an arc (SVG 2, B.2.4); ``None`` if it is none."""
    width, height, rotation, large, sweep, x, y = values
    width, height = abs(width), abs(height)
    cosine, sine = cos(radians(rotation)), sin(radians(rotation))
    half_x, half_y = (start[0] - x) / 2, (start[1] - y) / 2
    if not width or not height or not (half_x or half_y):
        return None
    # On the unit circle to which the ellipse is brought the chord goes from (a, b) to (-a, -b)
    a, b = (cosine * half_x + sine * half_y) / width, (cosine * half_y - sine * half_x) / height
    chord = a * a + b * b
    grown = max(1.0, sqrt(chord))
    width, height, a, b = width * grown, height * grown, a / grown, b / grown
    height_of_centre = sqrt(max(0.0, 1 / (a * a + b * b) - 1)) * (-1 if large == sweep else 1)
    centre_x, centre_y = height_of_centre * b, -height_of_centre * a
    first, last = atan2(b - centre_y, a - centre_x), atan2(-b - centre_y, -a - centre_x)
    turn = (last - first) % tau - (0 if sweep else tau)
    centre_x, centre_y = centre_x * width, centre_y * height
    return (
        cosine * centre_x - sine * centre_y + (start[0] + x) / 2,
        sine * centre_x + cosine * centre_y + (start[1] + y) / 2,
        *(width, height, first, turn),
    )


def _rewrite(path: _Path, count: int, shift: float) -> str | None:
    """Return the data with ``count`` decimals; ``None`` if a command then is off by more than ``shift``."""
    half = (unit := 10 ** (path.decimals - count)) // 2
    written, browser = _Pen(lambda value: value), _Pen(_single)
    start = (0.0, 0.0)
    pieces: list[str] = []
    implied = last = ""
    for (own, numbers), (kind, values), goal in zip(path.commands, path.points, path.goals(shift), strict=True):
        kept = values[:5] if kind == "A" else ()
        rounded = (kind, (*kept, *((int(value) + half) // unit for value in values[len(kept) :])))
        found = []
        for letter in own if path.keeps_letters else _letters(rounded, written):
            spelled = _arguments(letter, rounded[1], written, numbers, count)
            reached = browser.reach(letter, [_single_of(number) for number in spelled])
            if _is_near(start, goal, (browser.x, browser.y), reached, shift):
                text = _joined("" if letter == implied and spelled else letter, spelled, last)
                found.append((len(text), letter != implied, text, letter, reached, spelled))
        if not found:
            return None
        *_, text, letter, reached, spelled = min(found)
        pieces.append(text)
        implied, last = _IMPLIED.get(letter, letter), spelled[-1] if spelled else ""
        written.draw(rounded if kind != "Z" else written.reach("Z", ()))
        browser.draw(reached)
        start = _end(goal)
    return "".join(pieces)


def _letters(point: _Reached, pen: _Pen) -> str:
    """Return the commands that may reach a point."""
    kind, values = point
    if kind == "Z":
        return "z"
    level = "H" if values[-1] == pen.y else "V" if values[-2] == pen.x else ""
    letters = f"{level}L" if kind == "L" else _FORMS.get(kind, kind)
    return letters + letters.lower()


def _arguments(letter: str, values: tuple[float, ...], pen: _Pen, numbers: tuple[str, ...], count: int) -> list[str]:
    """Return the arguments of a command, in ``count`` decimals; of an arc all but its end as they were."""
    kind = letter.upper()
    kept: list[str] = []
    if kind == "Z":
        return kept
    if kind == "A":
        kept, values = [*map(_shorten_number, numbers[:3]), *numbers[3:5]], values[5:]
    elif kind in _SHORT:
        values = values[2:]
    x, y = (pen.x, pen.y) if letter.islower() else (0, 0)
    spelled = [_spell(int(value - (y if at % 2 else x)), count) for at, value in enumerate(values)]
    return kept + (spelled if kind not in "HV" else spelled[:1] if kind == "H" else spelled[1:])


def _spell(value: int, decimals: int) -> str:
    digits = str(abs(value)).rjust(decimals + 1, "0")
    split = len(digits) - decimals
    return _shorten_number(f"{'-' if value < 0 else ''}{digits[:split]}.{digits[split:]}")


def _joined(letter: str, numbers: list[str], last: str) -> str:
    """Return a command after one whose last argument is ``last``; the flags of an arc need no separators."""
    if len(numbers) == _ARGUMENTS["A"]:
        numbers = [*numbers[:3], "".join(numbers[3:6]), numbers[6]]
    pieces = [letter]
    previous = letter or last
    for number in numbers:
        pieces += (_separator(previous, number), number)
        previous = number
    return "".join(pieces)


def _separator(previous: str, number: str) -> str:
    """Return the separator before a number: none is needed before a sign, or a second decimal point."""
    if previous.isalpha() or number[0] == "-":
        return ""
    return "" if number[0] == "." and ("." in previous or "e" in previous) else " "


@lru_cache(maxsize=4096)
def _shorten_number(number: str) -> str:
    """Return the shortest spelling of a decimal number; one with an exponent is kept."""
    if "e" in number or "E" in number:
        return number.lower().removeprefix("+")
    sign, digits = ("-", number[1:]) if number[0] == "-" else ("", number.removeprefix("+"))
    whole, _, fraction = digits.partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    if not whole and not fraction:
        return "0"
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole
