// The app's own settings, by the names in local.settings.sample.json. An empty value means "not set".
// What depends on the deployment (connections, names of queues, who signs in) is added in function.bicep.

@export()
@description('Defaults; the parameter "settings" of main.bicep overrides any of them.')
var defaultSettings = {
  CLEANUP_SCHEDULE: '0 0 3 * * *'
  REPAIR_SCHEDULE: '0 */5 * * * *'
  JOB_CLEANUP_ABANDONED_DRAFTS_ENABLED: 'true'
  JOB_REPAIR_UNATTENDED_DRAFTS_ENABLED: 'true'
  LEASE_SECONDS: '30'
  HEARTBEAT_SECONDS: '10'
  MAX_ATTEMPTS: '5'
  MAX_RETRIES: '5'
  JOB_TIME_LIMIT_SECONDS: '120'
  STALE_HOURS: '2'
  UPLOAD_TTL_HOURS: '24'
  FAILED_TTL_DAYS: '7'
  READY_TTL_DAYS: '0'
  UPLOAD_SAS_MINUTES: '10'
  UPLOADS_PER_MINUTE: '10'
  STATUS_CALLS_PER_MINUTE: '300'
  IMAGE_ASYNC_ENABLED: 'true'
  SEGMENTER: 'auto'
  PROCESSOR_URL: ''
  METADATA_PROVIDER: 'model'
  OPENAI_ENDPOINT: ''
  OPENAI_MODEL: ''
  GARMENT_CATEGORIES: ''
  WATERMARK_TEXT: ''
  EVENTS_WEBHOOK_URL: ''
  EVENTS_QUEUE_ENABLED: 'false'
  FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: '120000000'
  PYTHON_THREADPOOL_THREAD_COUNT: '32'
}

@export()
@description('Settings that hold secrets; their values come from the secure parameter "secrets" only.')
var secretSettings = {
  PROCESSOR_KEY: ''
  EVENTS_WEBHOOK_SECRET: ''
  OPENAI_KEY: ''
}
