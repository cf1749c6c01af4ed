"""Style sheet text in a style element."""

import pytest

from adaptc.formats.css.sheet_text import escape_for_style_element, is_balanced


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b:c}<!-- -->", "a{b:c}<!-- -->"),
        ("a{b:'</STYLE>'}", "a{b:'<\\/STYLE>'}"),
        ("a{b:url(</style)}", "a{b:url(<\\/style)}"),
        ("/*! </style> */a{}", "/*! < /style> */a{}"),
        ("</style>", None),
        ("a{b:'</style\n'}", None),
        ("a{b:url(</style '</style')}", None),
    ],
)
def test_end_tag_cannot_appear(text, expected):
    assert escape_for_style_element(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b:c}", True),
        ("a{b:url(x)'y'(z)[w]}/**/", True),
        ("a{b:')'}", True),
        ("a{", False),
        ("a}", False),
        ("a{b:(}", False),
        ("a{b:c(d}", False),
        ("a{b:'c", False),
        ("a{b:url(c", False),
        ("/* a", False),
        ("a{}\\", False),
        ("a{b:url(c'd}", False),
    ],
)
def test_balance(text, expected):
    assert is_balanced(text) is expected
