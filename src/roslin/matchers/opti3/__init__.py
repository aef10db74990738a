"""The measures of Müllensiefen and Frieler, one by one (`parts`) and combined as opti3 (`fm`)."""
