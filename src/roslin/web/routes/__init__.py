"""The routes: `api` for programs, `pages` for people, `static` for files. Parse, one call, format."""
