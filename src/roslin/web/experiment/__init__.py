"""The pages of a ranking study, for `roslin experiment serve`.

    app           the application: routes, guards, errors, and its server
    study         the study that is served: settings, folder, database, sessions
    pages         what every page needs: who asks, whether a form is our own, language, templates
    participants  the way of a participant, from the link to the thanks
    trials        trials as JSON: documents have no names outside the server
    dashboard     the pages of the experimenter; `drawings` has their plots
    figures       melodies and files that are judged, drawn once for all participants
    rehearsal     a server for simulated participants

Participants read in their language, the experimenter in English. It is an extra: `pip install "roslin[experiment]"`.
"""
