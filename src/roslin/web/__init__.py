"""The web page and the API of one collection, for `roslin serve`.

    settings      what an operator decides: collection, limits, link to the source
    app           the application put together; `server` starts it with uvicorn
    routes/       api, pages, static: parse, one call, format
    schemas       the shapes of requests and of JSON answers
    queries       the query, the matcher and the filters that a request means
    service       search for a request; `found` is the page that comes of it
    explaining    why a melody is as near as it is
    listing       a result list narrowed, folded and ordered; `browsing` has no query, `side_by_side` several methods
    descriptions  a melody in words, bar by bar; `sentences` says what a result has in common with the query
    methods       the ways to compare, by what they do
    citations     how to cite a source, and Roslin
    identification  who a source is by, for a request
    shelf         the concordances of the collection, and what people say of them
    reviewers     who may decide about them: a name, a session, forms that are our own; `signing`, `attempts`
    library       the opened collection, how many search it at once, answers kept for a while
    progress      work in a thread for somebody who may leave, and how far it is, line by line
    connections   limits of time and number for connections: whoever is slow keeps nobody from being answered
    security      what every request passes: headers, size of the body, rate, access log
    shutdown      the end of a server within seconds of a signal; `health` says how it is
    errors        the one shape of errors
    language      the words of the pages in other languages; `negotiation` finds the one to answer in
    rendering     pages from templates
    readers       processes in which everything that clients send is read, with limits; `reader_process` runs in them
    uploads       a file that somebody sends, as queries to choose from
    exports       a result list as CSV, TREC run or citations

Babel, FastAPI, uvicorn and python-multipart are an extra: `pip install "roslin[web]"`.
"""
