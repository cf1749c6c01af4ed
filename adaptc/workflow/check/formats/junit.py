"""JUnit XML, as GitLab, Jenkins and others read it (https://github.com/testmoapp/junitxml)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from xml.etree import ElementTree

from adaptc.core.diagnostics import printable
from adaptc.workflow.check.formats.problem import Problem


def junit(problems: Iterable[Problem], passed: Mapping[str, int]) -> str:
    """Return the document: a suite for each group, with a case for each problem and one for all that is well."""
    root = ElementTree.Element("testsuites", name="adaptc check")
    ordered = sorted(problems, key=lambda one: one.group)
    failed = {group: list(rows) for group, rows in groupby(ordered, key=lambda one: one.group)}
    for group in sorted({*failed, *passed}):
        _suite(root, group, failed.get(group, []), passed.get(group, 0))
    for name in ("tests", "failures"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in root)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode")


def _suite(root: ElementTree.Element, group: str, failed: list[Problem], passed: int) -> None:
    cases = len(failed) + bool(passed)
    suite = ElementTree.SubElement(root, "testsuite", name=group, tests=str(cases), failures=str(len(failed)))
    if passed:
        ElementTree.SubElement(suite, "testcase", classname=group, name=f"{passed} fresh")
    for one in failed:
        place = _clean(one.file or group)
        case = ElementTree.SubElement(suite, "testcase", classname=group, name=f"{one.said.id} {place}")
        if one.file:
            case.set("file", place)
        failure = ElementTree.SubElement(case, "failure", type=one.said.id, message=_clean(one.said.message))
        failure.text = _clean(str(one.said))


def _clean(text: str) -> str:
    """Return text that may stand in XML: without control characters and lone surrogates."""
    return printable(text).encode("utf-8", "replace").decode()
