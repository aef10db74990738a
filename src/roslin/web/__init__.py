"""The search page and the API of one collection, for `roslin serve`.

    app             the application put together, by a factory that a study shares; `server` starts it with uvicorn
    settings        the operator's decisions: collection, limits, link to the source
    pages, api      the routes of the search page, and JSON for programs
    search          a search for a request; `listing` narrows, folds and orders its list, `explaining` explains a result
    identify        the composer of a source; `concordances` are pages to review concordances
    lists           a list of one's own; `exports` writes files to download, with citations
    requests        the parameters of requests: query, matcher, filters; `answers` are the shapes of JSON answers
    sentences       melodies, results and matchers in words; `rendering` makes pages from templates and `static_files`
    language        the languages of the pages, and the language of a request
    library         the opened collection, slots for searches, saved answers; `progress` of a search, line by line
    readers         processes that read everything from clients, with limits; `reader_process` runs in them
    security        guards of every request: headers, size of the body, rate, access log; `errors` in their one shape
    connections     limits on time and number of connections
    health          whether the server can answer; `shutdown` ends it within seconds of a signal
    reviewers       who may review concordances: a name, a session, forms; `signing`, `attempts`, `forms`

Babel, FastAPI, uvicorn and python-multipart are an extra: `pip install "roslin[web]"`.
"""
