"""``python -m adaptc.cli`` is the command ``adaptc``."""

from adaptc.cli.main import main

if __name__ == "__main__":
    main()
