"""The routes of a study: pages and forms for experts, trials as JSON, the experimenter's pages."""
