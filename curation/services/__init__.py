"""The services that pages and commands call. Heavy work runs in jobs (``curation.pipelines``)."""
