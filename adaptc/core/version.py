"""The version of the tool: a part of every recipe digest, so that a new version rebuilds what it makes."""

VERSION = "0.1.0"
