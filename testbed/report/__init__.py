"""Results as people see them: tables, plots, the page. Nothing here is measured."""
