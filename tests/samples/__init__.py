"""Inputs that tests read or make up: pictures, fonts, logs, figures, cases of html5lib; work for processes."""
