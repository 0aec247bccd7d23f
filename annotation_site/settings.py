"""The settings. A deployment changes them through environment variables (see env.py)."""

import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from annotation_site.env import (
    env_bool,
    env_choices,
    env_database,
    env_folder,
    env_int,
    env_list,
    env_origin,
    env_secret,
    env_str,
)
from hits import registry
from hits.domain import content_security_policy
from hits.domain.jobs.queues import INTERVAL_SECONDS, TASK_QUEUES, Queue, slots_by_queue
from hits.hints.card import HintRule

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env_str("DEERSTALKER_VAR", str(BASE_DIR / "var")))
TESTING = "pytest" in sys.modules
if TESTING:
    # Tests write to their own folder, so that a run beside a demo disturbs neither. It is in memory if possible,
    # because emptying a database after each test would wait for the disk.
    _memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - mkdtemp makes a private folder
    VAR_DIR = Path(
        env_str("DEERSTALKER_TEST_DIR") or tempfile.mkdtemp(prefix="deerstalker-test-", dir=_memory)
    )
# On a shared machine nobody else may read the database, the queue and the exports.
VAR_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)

DEBUG = env_bool("DEBUG", False)
SECRET_KEY = env_secret("SECRET_KEY", fallback_file=VAR_DIR / "secrets" / "django")
USE_TZ = True
TIME_ZONE = "UTC"
# The sources are in English; texts for workers are translated (docs/translating.md).
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "German")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Origins: one server answers under two names, so that the HIT frame is cross-site.
PORT = env_int("PORT", 8000, minimum=1)
PUBLIC_URL = env_origin("PUBLIC_URL", f"http://localhost:{PORT}")
HIT_ORIGIN = env_origin("HIT_ORIGIN", f"http://127.0.0.1:{PORT}")
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS") or [
    str(urlsplit(PUBLIC_URL).hostname),
    str(urlsplit(HIT_ORIGIN).hostname),
]
_HTTPS = PUBLIC_URL.startswith("https://")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _HTTPS
SESSION_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_AGE = 31_536_000
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env_bool("BEHIND_PROXY") else None
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_REFERRER_POLICY = "same-origin"

# --- Applications
HIT_KIND_PACKAGES = ["hits.kinds", "validation.kinds", *env_list("EXTRA_KIND_PACKAGES")]
PHOTO_SOURCES = "curation.selectors.sources.photo_sources"  # by which launches choose photos; "" for none
# by HitKind.unit_planner, what plans units that need more than photos (hits.selectors.unit_planners)
UNIT_PLANNERS = {"objects": "curation.selectors.writing_units.PLANNER"}
FAMILY_PACKAGES = ["curation.families", *env_list("EXTRA_FAMILY_PACKAGES")]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "axes",
    "csp",
    "hits",
    "hits.payments",
    "hits.marketplace",
    "validation",
    "curation",
    "curation.leaderboard",
    "annotation_site",
    *registry.list_apps_with_file(HIT_KIND_PACKAGES, "kind.py"),
    *registry.list_apps_with_file(FAMILY_PACKAGES, "family.py"),
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "annotation_site.middleware.OriginMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "annotation_site.language.WorkerLanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "annotation_site.middleware.NulCharacterMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "annotation_site.request_limits.BodyLimitMiddleware",
    "annotation_site.middleware.SignInRequiredMiddleware",
    "annotation_site.middleware.OutageMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "annotation_site.urls"
WSGI_APPLICATION = "annotation_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "annotation_site" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotation_site.context.origins_context",
            ],
        },
    },
]

# --- Database: SQLite by default, PostgreSQL by DATABASE_URL.
ATOMIC_REQUESTS = False
SQLITE_OPTIONS = {
    # IMMEDIATE: a transaction takes the write lock at its start instead of failing half-way.
    "transaction_mode": "IMMEDIATE",
    "timeout": 30,
    # FULL: a commit survives kill -9 and power loss; NORMAL in WAL mode would not survive a power loss.
    # recursive_triggers: INSERT OR REPLACE must fire the triggers of append-only tables.
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=30000; "
        "PRAGMA recursive_triggers=ON;"
    ),
}


def _database_settings() -> dict[str, object]:
    found = env_database("DATABASE_URL")
    if not found:
        return {
            "ENGINE": "annotation_site.sqlite",
            "NAME": env_str("SQLITE_PATH", str(VAR_DIR / "deerstalker.sqlite3")),
            "OPTIONS": SQLITE_OPTIONS,
            # A file, not memory: a live server would share one memory connection between threads.
            "TEST": {"NAME": VAR_DIR / "test.sqlite3"},
        }
    pool = {"pool": {"min_size": 1, "max_size": env_int("DATABASE_POOL", 16, minimum=1)}}
    return found | {"OPTIONS": found.get("OPTIONS", {}) | pool}


DATABASES = {"default": _database_settings()}

# --- Signing in
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = env_int("LOGIN_FAILURE_LIMIT", 8, minimum=1)
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_HANDLER = "annotation_site.sign_in.SignInHandler"
AXES_CLIENT_IP_CALLABLE = "annotation_site.sign_in.client_address"
SIGN_IN_FAILURES_PER_ADDRESS = env_int("LOGIN_FAILURES_PER_ADDRESS", 30, minimum=1)
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
if TESTING:
    PASSWORD_HASHERS = ["tests.support.passwords.QuickHasher"]

# --- Content security: nothing inline, nothing from elsewhere. hits/views/task_pages has the policies of task pages.
CONTENT_SECURITY_POLICY = {"DIRECTIVES": content_security_policy.console_policy(hit_origin=HIT_ORIGIN)}
X_FRAME_OPTIONS = "DENY"

# --- Files
STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = Path(env_str("MEDIA_ROOT", str(VAR_DIR / "media")))
MEDIA_URL = "/media/"
# Collections and files of proposals that the pages may import; empty: only commands import them (docs/curation.md).
IMPORTS_ROOT = env_folder("DEERSTALKER_IMPORTS")
STORAGES = {
    "default": {"BACKEND": "hits.storage.AtomicFileStorage"},
    "staticfiles": {"BACKEND": "annotation_site.staticfiles.ModuleAwareStorage"},
}
if DEBUG or TESTING:
    STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    WHITENOISE_USE_FINDERS = True
    WHITENOISE_AUTOREFRESH = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
MAX_IMAGE_BYTES = 40 * 1024 * 1024
MAX_IMAGE_PIXELS = 50_000_000
# The largest zip of predictions that a leaderboard accepts; a larger one is refused before it is read.
LEADERBOARD_MAX_BYTES = env_int("LEADERBOARD_MAX_BYTES", 200 * 1024 * 1024, minimum=1024)

# --- API
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS would describe an endpoint before the permission check
    "EXCEPTION_HANDLER": "hits.api.errors.handle_exception",
    # Requests per client. "hit-begin" counts an IP address, which a whole class of students may share.
    "DEFAULT_THROTTLE_RATES": {
        "hit-begin": "300/min",
        "hit-draft": "120/min",
        "hit-submit": "30/min",
        "hit-hints": "60/min",
        "leaderboard-read": "120/min",
        "leaderboard-photo": "1200/min",  # a team loads thousands of photos, one request each
        "leaderboard-submit": "30/min",
    },
    "NUM_PROXIES": 1 if env_bool("BEHIND_PROXY") else 0,
}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
if env_str("REDIS_URL"):
    CACHES = {
        "default": {
            "BACKEND": "annotation_site.cache.TolerantRedisCache",
            "LOCATION": env_str("REDIS_URL"),
        }
    }

# --- Live hints (docs/hints.md): disabled rules, the socket of the encoder process, a model for contradictions.
HINTS_OFF = env_choices("HINTS_OFF", list(HintRule), default=(HintRule.CONTRADICTS,))
HINTS_SOCKET = VAR_DIR / "encoder.sock"
HINTS_NLI_MODEL = env_str("HINTS_NLI_MODEL")

# --- Marketplace: by default the built-in one, behind the same boto3 calls.
MTURK_ENDPOINT = env_str("MTURK_ENDPOINT", "local")
MTURK_LIVE = env_bool("MTURK_LIVE", False)
MTURK_INPROCESS_TRANSPORT = "hits.marketplace.transport.attach_transport"
# The two apps call each other by name, since neither imports the other.
ATTEMPT_PROOF = "hits.marketplace.proof.is_valid_secret"
KNOWN_COUNTRY = "hits.marketplace.proof.find_declared_country"
ACCOUNT_OF_WORKER = "hits.marketplace.proof.find_account"
WORKER_OF_ACCOUNT = "hits.marketplace.proof.find_worker_id"
MARKETPLACE_ACCEPT_CHECK = "hits.selectors.eligibility.acceptance.acceptance_refusals"
MTURK_KEYS_SECRET = env_secret("MTURK_KEYS_SECRET", fallback_file=VAR_DIR / "secrets" / "mturk-keys")
PUBLISH_PER_SECOND = env_int("PUBLISH_PER_SECOND", 0, minimum=0)  # 0: no limit here, 3 on Amazon's
MTURK_PLATFORM_ACCESS_KEY_ID = env_str("MTURK_PLATFORM_ACCESS_KEY_ID", "AKDEERSTALKERPLATFORM")
MARKETPLACE_FEE_SCHEDULE = env_str("MARKETPLACE_FEE_SCHEDULE", "local")
# Hosts (host or host:port) that requesters' notifications may be sent to, besides this site itself.
MARKETPLACE_NOTIFICATION_HOSTS = [urlsplit(PUBLIC_URL).netloc, *env_list("MARKETPLACE_NOTIFICATION_HOSTS")]
# The origins to which a HIT page may submit, and those that may frame it.
HIT_SUBMIT_ORIGINS = env_list("HIT_SUBMIT_ORIGINS") or [
    PUBLIC_URL,
    "https://www.mturk.com",
    "https://workersandbox.mturk.com",
]
HIT_FRAME_ANCESTORS = env_list("HIT_FRAME_ANCESTORS") or [
    PUBLIC_URL,
    "https://worker.mturk.com",
    "https://www.mturk.com",
    "https://workersandbox.mturk.com",
]
WORKER_HASH_SECRET = env_secret("WORKER_HASH_SECRET", fallback_file=VAR_DIR / "secrets" / "worker-hash")

# --- Jobs: the filesystem transport needs no server; BROKER_URL names Redis or RabbitMQ when outgrown.
_QUEUE = VAR_DIR / "queue"
CELERY_BROKER_URL = env_str("BROKER_URL", "filesystem://localhost//")
if CELERY_BROKER_URL.startswith("filesystem://"):
    for _folder in ("messages", "control"):
        (_QUEUE / _folder).mkdir(parents=True, exist_ok=True)
    # kombu's transport reads messages that are still being written, which stops the worker.
    CELERY_BROKER_TRANSPORT = "annotation_site.filesystem_queue:Transport"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_QUEUE / "messages"),
        "data_folder_out": str(_QUEUE / "messages"),
        "control_folder": str(_QUEUE / "control"),
        "polling_interval": 0.3,
    }
CELERY_TASK_IGNORE_RESULT = True
# Messages are acknowledged on receipt (annotation_site/celery.py): a job's row, not its message, outlives a worker.
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_TASK_DEFAULT_QUEUE = Queue.DEFAULT.value
CELERY_TASK_ROUTES = {task: {"queue": queue.value} for task, queue in TASK_QUEUES.items()}
WORKER_CONCURRENCY = env_int("WORKER_CONCURRENCY", 1, minimum=1)  # heavy jobs at once
QUEUE_SLOTS = slots_by_queue(WORKER_CONCURRENCY)
CELERY_TASK_ALWAYS_EAGER = env_bool("CELERY_TASK_ALWAYS_EAGER", False)
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "celerybeat-schedule")
CELERY_BEAT_SCHEDULER = "annotation_site.beat:Scheduler"
CELERY_BEAT_SCHEDULE = {task: {"task": task, "schedule": every} for task, every in INTERVAL_SECONDS.items()}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "filters": {"secrets": {"()": "annotation_site.logs.SecretFilter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain", "filters": ["secrets"]}},
    # The audit trail has each sign-in and sign-out already. botocore at DEBUG logs whole requests with worker ids.
    "loggers": {"axes": {"level": "WARNING"}, "botocore": {"level": "INFO"}, "celery": {"level": "WARNING"}},
    "root": {"handlers": ["stderr"], "level": env_str("LOG_LEVEL", "WARNING" if TESTING else "INFO")},
}
SILENCED_SYSTEM_CHECKS = ["urls.W005"]
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")  # boto3 must never query a cloud host
