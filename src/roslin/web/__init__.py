"""The search page and the API of one collection, for `roslin serve`. They need the extra: `pip install "roslin[web]"`.

app             the factory of both applications; `server` starts them, and serves several collections
settings        the operator's decisions: collection, limits, link to the source; `imprint` reads site.toml
pages, api      the routes of the search page, and JSON for programs; `site` is for crawlers and other programs
search          a search for a request, and explanations; `listing` narrows, folds and orders its list
identify        the composer of a source; `reconcile` answers OpenRefine; `concordances` has pages for reviewers
lists           a reader's own list, and files to download, with citations
requests        the parameters of requests: query, matcher, filters; `answers` are the shapes of JSON answers
sentences       melodies, results and matchers in words, in one `language`; `rendering` makes pages and has static files
library         the opened collection, slots for searches, saved answers, progress of a search, health
readers         processes that read everything from clients, with limits
security        guards of every request: headers, size, rate, access log; `errors` in their one shape
sessions        reviewers, participants and experimenters: signed cookies, form tokens, attempts at passwords
connections     limits on time and number of connections, and the end of the server
experiment      the pages of a study
"""
