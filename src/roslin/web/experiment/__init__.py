"""The pages of a ranking study, for `roslin experiment serve`.

settings      what an operator decides: folder of the study, database, address
app           the application put together; `server` starts it with uvicorn
routes/       pages and forms for experts, trials as JSON, the experimenter's pages
study         the study that is served: folder, database, signatures, figures
visitor       who asks: the session, and what writing needs besides
links         signatures of personal links, sessions and forms
figures       what is judged, drawn once for everybody
trials        a trial in numbers: documents have no names outside the server
language      the words of the pages, English and German
questionnaire answers of a form, checked against their questions
schemas       the shapes of requests in JSON
errors        what went wrong, as a page or in the one shape of errors
rendering     pages from templates
"""
