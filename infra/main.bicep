// The whole of Fitting Room in one resource group: `azd up`, or `az deployment sub create`.
targetScope = 'subscription'

@minLength(1)
@maxLength(40)
@description('A short name for this installation, such as "wardrobe-prod". Part of every resource name and of the azd-env-name tag.')
param environmentName string

@description('Azure region. `az functionapp list-flexconsumption-locations` lists those with Flex Consumption.')
param location string

@description('Name of the resource group. Empty: rg-<environmentName>.')
param resourceGroupName string = ''

@description('Tags put on every resource.')
param tags object = {}

@allowed(['flex', 'kubernetes'])
@description('Where the functions run. One queue must have one host: with "kubernetes" no function app is made and the manifests in infra/kubernetes take its place.')
param hostingMode string = 'flex'

@allowed([512, 2048, 4096])
@description('Memory of one instance in MB. One photo at a time needs 2048.')
param instanceMemoryMB int = 2048

@minValue(1)
@maxValue(1000)
@description('Most instances a function group may scale out to. The service may refuse less than 40.')
param maximumInstanceCount int = 40

@description('Instances that are always warm, such as [{ name: \'http\', instanceCount: 1 }, { name: \'function:process_image_job\', instanceCount: 1 }]. They are billed while idle.')
param alwaysReady array = []

@minValue(1)
@maxValue(1000)
@description('HTTP requests one instance takes at a time. Python apps start with 1, which opens an instance for every upload under way; 8 uploads of the largest allowed size fit into 2048 MB.')
param httpConcurrency int = 8

@description('Origins of the web pages that call the API and upload straight to storage, such as https://wardrobe.example. Never a star. Empty: no browser of another origin.')
param allowedOrigins array = []

@description('Redundancy of the account that holds the photos. Not every region has ZRS.')
param dataStorageSku string = 'Standard_ZRS'

@minValue(1)
@maxValue(365)
@description('Days that a deleted photo can be brought back by an operator. It is part of what you tell people about deletion.')
param blobSoftDeleteDays int = 7

@description('App settings that differ from the defaults in app/settings.bicep, by the names in local.settings.sample.json. Values are strings.')
param settings object = {}

@secure()
@description('App settings that are secrets: PROCESSOR_KEY, EVENTS_WEBHOOK_SECRET, OPENAI_KEY. Prefer Key Vault references to plain values; the app\'s identity then needs "Key Vault Secrets User".')
param secrets object = {}

@allowed(['ApplicationInsights', 'OpenTelemetry'])
@description('How the host sends telemetry. The lines of docs/telemetry.md are the same in both.')
param telemetryMode string = 'ApplicationInsights'

@description('Put the app into a virtual network and give both storage accounts private endpoints.')
param vnetEnabled bool = false

@description('Address range of the virtual network.')
param vnetAddressPrefix string = '10.20.0.0/22'

@description('Whether browsers reach the photo account directly. Uploads and picture links by SAS address need it.')
param dataPublicAccess bool = true

@description('Client id of the app registration for the platform\'s sign-in (Easy Auth). Empty: callers bring the function key and X-Owner-Id instead.')
param authClientId string = ''

@description('Tenant of that registration.')
param authTenantId string = tenant().tenantId

@description('Audiences accepted in tokens. Empty: api://<authClientId>.')
param authAllowedAudiences array = []

@description('Object id of whoever deploys, for the probe that waits until roles work. Empty: no role is given and the wait has a fixed length.')
param principalId string = deployer().objectId

@allowed(['User', 'ServicePrincipal', 'Group'])
@description('What kind of principal that is. A pipeline is a ServicePrincipal.')
param principalType string = 'User'

@minValue(30)
@maxValue(730)
@description('Days that logs are kept.')
param logRetentionDays int = 30

@description('Most gigabytes of logs a day; -1 for no limit. A reached limit also silences the alarms until midnight UTC.')
param logDailyCapGb int = -1

@description('Mail addresses that the alarms go to. Empty: the rules still fire and are seen in the portal.')
param alertEmails array = []

@description('Switches all alarms on or off, for a planned outage.')
param alertsEnabled bool = true

@description('Limits of the alarms that differ from the defaults in monitoring/alerts.bicep.')
param alertLimits object = {}

@description('Where the on-call finds the runbook. Alarms add #<heading>.')
param runbookUrl string = 'docs/runbook.md'

@description('Kubernetes only: the OIDC issuer address of the cluster, for workload identity.')
param clusterOidcIssuer string = ''

@description('Kubernetes only: the namespace that infra/kubernetes is applied to.')
param kubernetesNamespace string = 'fitting-room'

var allTags = union(tags, { 'azd-env-name': environmentName })

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: empty(resourceGroupName) ? 'rg-${environmentName}' : resourceGroupName
  location: location
  tags: allTags
}

module resources 'resources.bicep' = {
  name: 'fitting-room'
  scope: group
  params: {
    environmentName: environmentName
    location: location
    tags: allTags
    hostingMode: hostingMode
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    alwaysReady: alwaysReady
    httpConcurrency: httpConcurrency
    allowedOrigins: allowedOrigins
    dataStorageSku: dataStorageSku
    blobSoftDeleteDays: blobSoftDeleteDays
    settings: settings
    secrets: secrets
    telemetryMode: telemetryMode
    vnetEnabled: vnetEnabled
    vnetAddressPrefix: vnetAddressPrefix
    dataPublicAccess: dataPublicAccess
    authClientId: authClientId
    authTenantId: authTenantId
    authAllowedAudiences: authAllowedAudiences
    principalId: principalId
    principalType: principalType
    logRetentionDays: logRetentionDays
    logDailyCapGb: logDailyCapGb
    alertEmails: alertEmails
    alertsEnabled: alertsEnabled
    alertLimits: alertLimits
    runbookUrl: runbookUrl
    clusterOidcIssuer: clusterOidcIssuer
    kubernetesNamespace: kubernetesNamespace
  }
}

output AZURE_RESOURCE_GROUP string = group.name
output APP_NAME string = resources.outputs.appName
output APP_URL string = resources.outputs.appUrl
output HOST_STORAGE_NAME string = resources.outputs.hostStorageName
output PACKAGE_CONTAINER_URL string = resources.outputs.packageContainerUrl
// For the hook that waits for the roles: azd hands outputs to hooks, but not what it fills parameters with.
output DEPLOYER_PRINCIPAL_ID string = principalId
output PACKAGE_CONTAINER_IS_PUBLIC bool = !vnetEnabled
output DATA_STORAGE_NAME string = resources.outputs.dataStorageName
output APP_IDENTITY_CLIENT_ID string = resources.outputs.appIdentityClientId
output KEDA_IDENTITY_CLIENT_ID string = resources.outputs.kedaIdentityClientId
output APPLICATIONINSIGHTS_CONNECTION_STRING string = resources.outputs.applicationInsightsConnectionString
output LOG_WORKSPACE_ID string = resources.outputs.workspaceId
