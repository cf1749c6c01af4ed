"""``python -m adaptc`` is the command ``adaptc``."""

from adaptc.cli.main import main

if __name__ == "__main__":
    main()
