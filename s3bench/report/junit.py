"""Properties and counts of JUnit XML documents.

The shape is that of Jenkins' xUnit plug-in (its `junit-10.xsd`), which knows properties of suites and not of cases.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable

_OUTCOMES = (("tests", ""), ("failures", "/failure"), ("errors", "/error"), ("skipped", "/skipped"))
_TOTALS = ("tests", "failures", "errors")  # the root has no `skipped`


def add_properties(suite: ET.Element, properties: Iterable[tuple[str, str]]) -> None:
    """Put the properties into a suite; they come before its cases."""
    parent = ET.SubElement(suite, "properties")
    for name, value in properties:
        ET.SubElement(parent, "property", name=name, value=value)


def add_counts(root: ET.Element) -> None:
    """Write the numbers of cases and outcomes into each suite, and their sums into the root."""
    totals = dict.fromkeys(_TOTALS, 0)
    for suite in root.iter("testsuite"):
        for name, outcome in _OUTCOMES:
            count = len(suite.findall(f"testcase{outcome}"))
            suite.set(name, f"{count}")
            if name in totals:
                totals[name] += count
    for name, total in totals.items():
        root.set(name, f"{total}")
