// Every right that the app has: data rights on its own two accounts, and sending its own telemetry. Nothing on the subscription.

@description('Name of the host\'s account.')
param hostStorageName string

@description('Name of the account with the wardrobe data.')
param dataStorageName string

@description('Name of the Application Insights component.')
param applicationInsightsName string

@description('Object id of the app\'s identity. A string, so that assignment names can be computed before the deployment runs.')
param appPrincipalId string

@description('Object id of the identity that KEDA reads queue lengths with. Empty: none.')
param kedaPrincipalId string

@description('Object id of whoever deploys. Empty: none.')
param deployerPrincipalId string

@description('Kind of that principal.')
param deployerPrincipalType string

var roles = {
  blobDataContributor: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
  blobDataOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  blobDataReader: '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
  queueDataContributor: '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
  queueDataReader: '19e7f393-937e-4f77-808e-94535e297925'
  tableDataContributor: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
  monitoringMetricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb'
}

// Owner and not Contributor: the host sets blob leases and container rights on its own account.
var hostRoles = [roles.blobDataOwner, roles.tableDataContributor]

// Contributor on blobs also lets the app sign read and upload addresses with a user delegation key. On queues: a failed
// message is released with an update, which the narrower processor role may not do.
var dataRoles = [roles.blobDataContributor, roles.queueDataContributor, roles.tableDataContributor]

resource hostStorage 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: hostStorageName
}

resource dataStorage 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: dataStorageName
}

resource applicationInsights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: applicationInsightsName
}

resource appOnHost 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in hostRoles: {
    name: guid(hostStorage.id, appPrincipalId, role)
    scope: hostStorage
    properties: {
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
    }
  }
]

resource appOnData 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in dataRoles: {
    name: guid(dataStorage.id, appPrincipalId, role)
    scope: dataStorage
    properties: {
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
    }
  }
]

resource appOnTelemetry 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(applicationInsights.id, appPrincipalId, roles.monitoringMetricsPublisher)
  scope: applicationInsights
  properties: {
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.monitoringMetricsPublisher)
  }
}

resource kedaOnData 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(kedaPrincipalId)) {
  name: guid(dataStorage.id, kedaPrincipalId, roles.queueDataReader)
  scope: dataStorage
  properties: {
    principalId: kedaPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.queueDataReader)
  }
}

// Only so that the hook can see when roles have reached the storage service.
resource deployerOnHost 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(deployerPrincipalId)) {
  name: guid(hostStorage.id, deployerPrincipalId, roles.blobDataReader)
  scope: hostStorage
  properties: {
    principalId: deployerPrincipalId
    principalType: deployerPrincipalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.blobDataReader)
  }
}
