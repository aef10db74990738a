"""The web page and the API of one collection, for `roslin serve`.

    settings      what an operator decides: collection, limits, link to the source
    app           the application put together; `server` starts it with uvicorn
    routes/       api, pages, static: parse, one call, format
    schemas       the shapes of requests and of JSON answers
    queries       the query, the matcher and the filters that a request means
    service       search and explain for a request
    identification  who a source is by, for a request
    shelf         the concordances of the collection, and what people say of them
    reviewers     who may decide about them: a name, a session, forms that are our own; `signing`, `attempts`
    library       the opened collection, how many search it at once, answers kept for a while
    progress      work in a thread for somebody who may leave, and how far it is, line by line
    connections   limits of time and number for connections: whoever is slow keeps nobody from being answered
    security      what every request passes: headers, size of the body, rate, access log
    errors        the one shape of errors
    language      the words of the pages in other languages; `speaking` finds out which one somebody reads
    rendering     pages from templates
    readers       processes in which everything that clients send is read, with limits; `reading` is what runs in them
    uploads       a file that somebody sends, as queries to choose from
    exports       a result list as CSV, TREC run or citations

Babel, FastAPI, uvicorn and python-multipart are an extra: `pip install "roslin[web]"`.
"""
