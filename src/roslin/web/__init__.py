"""The web page and the API of one collection, for `roslin serve`.

    settings   what an operator decides: collection, limits, link to the source
    app        the application put together; `serve` starts it with uvicorn
    guards     what every request passes: headers, size of the body, rate, access log
    refusals   the one shape of errors
    library    the opened collection, how many search it at once, answers kept for a while
    asking     the parameters of a request, and the query and filters that they mean
    answers    the shapes of JSON answers
    finding    one search: ranked results with the notes that matched
    matching   which notes of query and candidate belong together, for every kind of matcher
    explaining one result taken apart, in the search that found it
    waiting    work in a thread for somebody who may leave; telling: how far it is, line by line
    figures    melodies as drawings with play buttons, matched notes marked
    uploads    a file that somebody sends, as queries to choose from
    exports    a result list as CSV, TREC run or citations
    api, pages the routes: parse, one call, format

FastAPI, Jinja2, uvicorn and python-multipart are an extra: `pip install "roslin[web]"`.
"""
