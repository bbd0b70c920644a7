"""What stands behind the command line. Nothing here is imported by the library itself."""
