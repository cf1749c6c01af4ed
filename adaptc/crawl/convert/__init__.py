"""Links made to lead to the files of the mirror, by spans: every other byte stays as it was."""
