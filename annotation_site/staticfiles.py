"""Static files with hashed names, JavaScript module imports included."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleAwareStorage(CompressedManifestStaticFilesStorage):
    """Rewrites ``import … from "./x.js"`` to the hashed name, so that no bundler is needed."""

    support_js_module_import_aggregation = True
    # A pass for each level of imports: a page's script imports modules that import others.
    max_post_process_passes = 12
