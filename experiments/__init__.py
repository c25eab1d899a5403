"""The command line, theorem checks and studies: frozen configuration -> pure run -> rows."""
