// Everything inside the resource group. Deploys alone as well: `az deployment group create`.

@description('A short name for this installation; part of every resource name.')
param environmentName string

@description('Azure region.')
param location string = resourceGroup().location

@description('Tags put on every resource.')
param tags object = {}

@allowed(['flex', 'kubernetes'])
@description('Where the functions run.')
param hostingMode string = 'flex'

@description('Memory of one instance in MB.')
param instanceMemoryMB int = 2048

@description('Most instances a function group may scale out to.')
param maximumInstanceCount int = 40

@description('Instances that are always warm.')
param alwaysReady array = []

@description('HTTP requests one instance takes at a time.')
param httpConcurrency int = 8

@description('Origins of the web pages that call the API and upload straight to storage.')
param allowedOrigins array = []

@description('Redundancy of the account that holds the photos.')
param dataStorageSku string = 'Standard_ZRS'

@description('Days that a deleted photo can be brought back by an operator.')
param blobSoftDeleteDays int = 7

@description('App settings that differ from the defaults.')
param settings object = {}

@secure()
@description('App settings that are secrets.')
param secrets object = {}

@description('How the host sends telemetry.')
param telemetryMode string = 'ApplicationInsights'

@description('Put the app into a virtual network and give both storage accounts private endpoints.')
param vnetEnabled bool = false

@description('Address range of the virtual network.')
param vnetAddressPrefix string = '10.20.0.0/22'

@description('Whether browsers reach the photo account directly.')
param dataPublicAccess bool = true

@description('Client id of the app registration for Easy Auth. Empty: callers bring keys.')
param authClientId string = ''

@description('Tenant of that registration.')
param authTenantId string = tenant().tenantId

@description('Audiences accepted in tokens.')
param authAllowedAudiences array = []

@description('Object id of whoever deploys. Empty: none.')
param principalId string = ''

@description('Kind of that principal.')
param principalType string = 'User'

@description('Days that logs are kept.')
param logRetentionDays int = 30

@description('Most gigabytes of logs a day; -1 for no limit.')
param logDailyCapGb int = -1

@description('Mail addresses that the alarms go to.')
param alertEmails array = []

@description('Switches all alarms on or off.')
param alertsEnabled bool = true

@description('Limits of the alarms that differ from the defaults.')
param alertLimits object = {}

@description('Where the on-call finds the runbook.')
param runbookUrl string = 'docs/runbook.md'

@description('Kubernetes only: the OIDC issuer address of the cluster.')
param clusterOidcIssuer string = ''

@description('Kubernetes only: the namespace of the manifests.')
param kubernetesNamespace string = 'fitting-room'

var token = uniqueString(resourceGroup().id, environmentName)
var onKubernetes = hostingMode == 'kubernetes'
var issuer = onKubernetes ? clusterOidcIssuer : ''

module identity 'app/identity.bicep' = {
  name: 'identity'
  params: {
    name: 'id-${environmentName}'
    location: location
    tags: tags
    issuer: issuer
    subject: 'system:serviceaccount:${kubernetesNamespace}:fitting-room'
  }
}

module kedaIdentity 'app/identity.bicep' = if (onKubernetes) {
  name: 'keda-identity'
  params: {
    name: 'id-${environmentName}-keda'
    location: location
    tags: tags
    issuer: issuer
    subject: 'system:serviceaccount:keda:keda-operator'
  }
}

module workspace 'monitoring/workspace.bicep' = {
  name: 'workspace'
  params: {
    workspaceName: 'log-${environmentName}'
    applicationInsightsName: 'appi-${environmentName}'
    location: location
    tags: tags
    retentionDays: logRetentionDays
    dailyCapGb: logDailyCapGb
    anonymousTelemetry: onKubernetes
  }
}

module hostStorage 'data/host-storage.bicep' = {
  name: 'host-storage'
  params: {
    name: 'sthost${token}'
    location: location
    tags: tags
    publicAccess: !vnetEnabled
  }
}

module dataStorage 'data/wardrobe-storage.bicep' = {
  name: 'wardrobe-storage'
  params: {
    name: 'stdata${token}'
    location: location
    tags: tags
    sku: dataStorageSku
    publicAccess: dataPublicAccess
    allowedOrigins: allowedOrigins
    softDeleteDays: blobSoftDeleteDays
    workspaceId: workspace.outputs.workspaceId
  }
}

module vnet 'network/vnet.bicep' = if (vnetEnabled) {
  name: 'vnet'
  params: {
    name: 'vnet-${environmentName}'
    location: location
    tags: tags
    addressPrefix: vnetAddressPrefix
  }
}

module privateEndpoints 'network/private-endpoints.bicep' = if (vnetEnabled) {
  name: 'private-endpoints'
  params: {
    location: location
    tags: tags
    vnetId: vnetEnabled ? vnet!.outputs.id : ''
    subnetId: vnetEnabled ? vnet!.outputs.endpointSubnetId : ''
    accounts: [
      {
        name: hostStorage.outputs.name
        id: hostStorage.outputs.id
      }
      {
        name: dataStorage.outputs.name
        id: dataStorage.outputs.id
      }
    ]
  }
}

module roles 'security/roles.bicep' = {
  name: 'roles'
  params: {
    hostStorageName: hostStorage.outputs.name
    dataStorageName: dataStorage.outputs.name
    applicationInsightsName: workspace.outputs.applicationInsightsName
    appPrincipalId: identity.outputs.principalId
    kedaPrincipalId: onKubernetes ? kedaIdentity!.outputs.principalId : ''
    deployerPrincipalId: principalId
    deployerPrincipalType: principalType
  }
}

// After the roles and the endpoints: an app that starts before it may read its storage finds no functions and stays so.
module app 'app/function.bicep' = if (!onKubernetes) {
  name: 'app'
  params: {
    name: 'func-${environmentName}-${token}'
    planName: 'plan-${environmentName}'
    location: location
    tags: tags
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    hostStorageName: hostStorage.outputs.name
    packageContainerUrl: hostStorage.outputs.packageContainerUrl
    dataBlobEndpoint: dataStorage.outputs.blobEndpoint
    dataQueueEndpoint: dataStorage.outputs.queueEndpoint
    dataTableEndpoint: dataStorage.outputs.tableEndpoint
    applicationInsightsConnectionString: workspace.outputs.connectionString
    telemetryMode: telemetryMode
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    alwaysReady: alwaysReady
    httpConcurrency: httpConcurrency
    allowedOrigins: allowedOrigins
    subnetId: vnetEnabled ? vnet!.outputs.appSubnetId : ''
    authClientId: authClientId
    authTenantId: authTenantId
    authAllowedAudiences: authAllowedAudiences
    settings: settings
    secrets: secrets
  }
  dependsOn: [roles, privateEndpoints]
}

module alerts 'monitoring/alerts.bicep' = {
  name: 'alerts'
  params: {
    environmentName: environmentName
    location: location
    tags: tags
    workspaceId: workspace.outputs.workspaceId
    emails: alertEmails
    enabled: alertsEnabled
    limits: alertLimits
    runbookUrl: runbookUrl
  }
  dependsOn: [app, dataStorage]
}

module workbook 'monitoring/workbook.bicep' = {
  name: 'workbook'
  params: {
    environmentName: environmentName
    location: location
    tags: tags
    workspaceId: workspace.outputs.workspaceId
  }
}

output appName string = onKubernetes ? '' : app!.outputs.name
output appUrl string = onKubernetes ? '' : app!.outputs.url
output hostStorageName string = hostStorage.outputs.name
output packageContainerUrl string = hostStorage.outputs.packageContainerUrl
output dataStorageName string = dataStorage.outputs.name
output appIdentityClientId string = identity.outputs.clientId
output kedaIdentityClientId string = onKubernetes ? kedaIdentity!.outputs.clientId : ''
output applicationInsightsConnectionString string = workspace.outputs.connectionString
output workspaceId string = workspace.outputs.workspaceId
