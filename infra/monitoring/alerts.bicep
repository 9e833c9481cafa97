// Alarms. Each is a query of its own file that returns rows exactly when somebody should look, so that it can be checked and
// run without Azure; a rule only says how often, over which time, and how urgent.

@description('Part of every rule\'s name.')
param environmentName string

@description('Azure region.')
param location string

@description('Tags.')
param tags object

@description('Workspace that holds the logs.')
param workspaceId string

@description('Mail addresses that the alarms go to.')
param emails array

@description('Whether the rules are evaluated.')
param enabled bool

@description('Limits that differ from the defaults below.')
param limits object

@description('Address of the runbook; #<heading> is added.')
param runbookUrl string

// The same numbers stand in the queries, which can so be run as they are.
var defaultLimits = {
  failedDrafts: 5
  failedPercent: 10
  retriedRuns: 10
  retriedPercent: 20
  deepMessages: 500
  oldSeconds: 900
  lagHours: 25
  driftSeconds: 300
  slowSeconds: 30
  enoughDrafts: 20
}
var limit = union(defaultLimits, limits)

var rules = [
  {
    name: 'failed-spike'
    title: 'Drafts keep failing'
    severity: 2
    frequency: 'PT5M'
    window: 'PT1H'
    lookBack: null
    query: replace(
      replace(
        loadTextContent('queries/failed_spike.kql'),
        'let failedDrafts = 5;',
        'let failedDrafts = ${limit.failedDrafts};'
      ),
      'let failedPercent = 10;',
      'let failedPercent = ${limit.failedPercent};'
    )
  }
  {
    name: 'retry-spike'
    title: 'Many runs are repeated'
    severity: 3
    frequency: 'PT5M'
    window: 'PT30M'
    lookBack: null
    query: replace(
      replace(
        loadTextContent('queries/retry_spike.kql'),
        'let retriedRuns = 10;',
        'let retriedRuns = ${limit.retriedRuns};'
      ),
      'let retriedPercent = 20;',
      'let retriedPercent = ${limit.retriedPercent};'
    )
  }
  {
    name: 'dead-letters'
    title: 'Messages were given up'
    severity: 2
    frequency: 'PT5M'
    window: 'PT15M'
    lookBack: null
    query: loadTextContent('queries/dead_letters.kql')
  }
  {
    name: 'poison-writes'
    title: 'Storage saw messages moved into a poison queue'
    severity: 2
    frequency: 'PT5M'
    window: 'PT15M'
    lookBack: null
    query: loadTextContent('queries/poison_writes.kql')
  }
  {
    name: 'poison-handler-dead'
    title: 'Nobody empties a poison queue'
    severity: 1
    frequency: 'PT5M'
    window: 'PT15M'
    lookBack: null
    query: loadTextContent('queries/poison_handler_dead.kql')
  }
  {
    name: 'backlog'
    title: 'Photos wait too long'
    severity: 2
    frequency: 'PT5M'
    window: 'PT30M'
    lookBack: null
    query: replace(
      replace(
        loadTextContent('queries/backlog.kql'),
        'let deepMessages = 500;',
        'let deepMessages = ${limit.deepMessages};'
      ),
      'let oldSeconds = 900;',
      'let oldSeconds = ${limit.oldSeconds};'
    )
  }
  {
    name: 'silence'
    title: 'The app says nothing'
    severity: 1
    frequency: 'PT15M'
    window: 'PT30M'
    lookBack: null
    query: loadTextContent('queries/silence.kql')
  }
  {
    name: 'cleanup-lag'
    title: 'The nightly cleanup is overdue'
    severity: 2
    frequency: 'PT1H'
    window: 'P1D'
    lookBack: 'P2D'
    query: replace(
      loadTextContent('queries/cleanup_lag.kql'),
      'let lagHours = 25;',
      'let lagHours = ${limit.lagHours};'
    )
  }
  {
    name: 'cron-drift'
    title: 'The nightly cleanup began at the wrong time'
    severity: 3
    frequency: 'PT1H'
    window: 'P1D'
    lookBack: null
    query: replace(
      loadTextContent('queries/cron_drift.kql'),
      'let driftSeconds = 300;',
      'let driftSeconds = ${limit.driftSeconds};'
    )
  }
  {
    name: 'blob-delete-failed'
    title: 'Photos could not be deleted'
    severity: 2
    frequency: 'PT30M'
    window: 'PT1H'
    lookBack: null
    query: loadTextContent('queries/blob_delete_failed.kql')
  }
  {
    name: 'slow'
    title: 'Photos take too long'
    severity: 3
    frequency: 'PT15M'
    window: 'PT1H'
    lookBack: null
    query: replace(
      replace(
        loadTextContent('queries/slow.kql'),
        'let slowSeconds = 30;',
        'let slowSeconds = ${limit.slowSeconds};'
      ),
      'let enoughDrafts = 20;',
      'let enoughDrafts = ${limit.enoughDrafts};'
    )
  }
]

resource onCall 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: 'ag-${environmentName}'
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: 'fittingroom'
    emailReceivers: [
      for (email, i) in emails: {
        name: 'mail-${i}'
        emailAddress: email
        useCommonAlertSchema: true
      }
    ]
  }
}

// Validation is skipped: in a workspace that has no line yet the storage tables do not exist.
resource queryRules 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for rule in rules: {
    name: '${rule.name}-${environmentName}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: 'Fitting Room: ${rule.title}'
      description: 'What to do: ${runbookUrl}#${rule.name}'
      enabled: enabled
      severity: rule.severity
      evaluationFrequency: rule.frequency
      windowSize: rule.window
      overrideQueryTimeRange: rule.lookBack
      scopes: [workspaceId]
      autoMitigate: true
      skipQueryValidation: true
      checkWorkspaceAlertsStorageConfigured: false
      criteria: {
        allOf: [
          {
            query: rule.query
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: 0
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      actions: {
        actionGroups: [onCall.id]
        customProperties: {
          runbook: '${runbookUrl}#${rule.name}'
        }
      }
    }
  }
]
