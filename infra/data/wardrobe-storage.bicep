// The wardrobe data: photos and what is made from them, the queues, the tables.
//
// No lifecycle rule deletes anything here: an accepted wardrobe is as old as its owner likes, and the nightly cleanup is the
// only one that knows which blob still counts.

import { containers, queues, tables } from '../names.bicep'

@description('Name of the account.')
param name string

@description('Azure region.')
param location string

@description('Tags.')
param tags object

@description('Redundancy.')
param sku string

@description('Whether the account is reached from outside the virtual network: browsers upload to it and read pictures from it.')
param publicAccess bool

@description('Origins whose pages may upload and show pictures.')
param allowedOrigins array

@description('Days that a deleted blob or container can be brought back.')
param softDeleteDays int

@description('Workspace that the storage log goes to.')
param workspaceId string

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    isLocalUserEnabled: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: publicAccess ? 'Enabled' : 'Disabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: publicAccess ? 'Allow' : 'Deny'
    }
    sasPolicy: {
      expirationAction: 'Log'
      sasExpirationPeriod: '0.02:00:00'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: account
  name: 'default'
  properties: {
    containerDeleteRetentionPolicy: {
      enabled: true
      days: softDeleteDays
    }
    cors: {
      corsRules: empty(allowedOrigins) ? [] : [
        {
          allowedOrigins: allowedOrigins
          allowedMethods: ['PUT', 'GET', 'HEAD', 'OPTIONS']
          allowedHeaders: ['content-type', 'x-ms-blob-type', 'x-ms-version', 'x-ms-client-request-id']
          exposedHeaders: ['etag', 'x-ms-request-id']
          maxAgeInSeconds: 3600
        }
      ]
    }
    deleteRetentionPolicy: {
      enabled: true
      days: softDeleteDays
    }
  }
}

resource blobContainers 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = [
  for container in items(containers): {
    parent: blobs
    name: container.value
    properties: {
      publicAccess: 'None'
    }
  }
]

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-06-01' = {
  parent: account
  name: 'default'
}

resource jobQueues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-06-01' = [
  for queue in items(queues): {
    parent: queueService
    name: queue.value
  }
]

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2025-06-01' = {
  parent: account
  name: 'default'
}

resource draftTables 'Microsoft.Storage/storageAccounts/tableServices/tables@2025-06-01' = [
  for table in items(tables): {
    parent: tableService
    name: table.value
  }
]

// Two witnesses that do not depend on the app: messages written into a poison queue, and deletions that the service refused.
resource queueLog 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'writes'
  scope: queueService
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageWrite'
        enabled: true
      }
    ]
  }
}

resource blobLog 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'deletions'
  scope: blobs
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}

output id string = account.id
output name string = account.name
output blobEndpoint string = account.properties.primaryEndpoints.blob
output queueEndpoint string = account.properties.primaryEndpoints.queue
output tableEndpoint string = account.properties.primaryEndpoints.table
