"""The search page and the API of one collection, for `roslin serve`. They need the extra: `pip install "roslin[web]"`.

app             the factory of both applications; `server` starts one with uvicorn
settings        the operator's decisions: collection, limits, link to the source
pages, api      the routes of the search page, and JSON for programs
search          a search for a request, and explanations; `listing` narrows, folds and orders its list
identify        the composer of a source; `concordances` are pages to review concordances
lists           a reader's own list, and files to download, with citations
requests        the parameters of requests: query, matcher, filters; `answers` are the shapes of JSON answers
sentences       melodies, results and matchers in words; `rendering` makes pages from templates and `static_files`
language        the languages of the pages, and the language of a request
library         the opened collection, slots for searches, saved answers, progress of a search, health
readers         processes that read everything from clients, with limits
security        guards of every request: headers, size, rate, access log; `errors` in their one shape
sessions        reviewers, participants and experimenters: signed cookies, form tokens, attempts at passwords
connections     limits on time and number of connections, and the end of the server
experiment      the pages of a study
"""
