"""Lets `python -m grammask` run the command line."""

import sys

from .cli import main

sys.exit(main())
