"""The parts of the command line; grammask.cli puts them together."""
