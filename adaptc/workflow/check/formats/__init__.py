"""Findings in the words of other programs: JUnit, GitHub, SARIF."""
