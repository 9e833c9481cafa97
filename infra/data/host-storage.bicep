// The Functions host's own account: its locks, timer state and keys, and the deployed package. No photo ever.

import { packageContainer } from '../names.bicep'

@description('Name of the account.')
param name string

@description('Azure region.')
param location string

@description('Tags.')
param tags object

@description('Whether the account is reached from outside the virtual network.')
param publicAccess bool

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: 'Standard_LRS'
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
  }

  resource blobs 'blobServices' = {
    name: 'default'

    resource packages 'containers' = {
      name: packageContainer
      properties: {
        publicAccess: 'None'
      }
    }
  }
}

output id string = account.id
output name string = account.name
output packageContainerUrl string = '${account.properties.primaryEndpoints.blob}${packageContainer}'
