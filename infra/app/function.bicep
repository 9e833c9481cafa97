// The function app on Flex Consumption: its plan, its settings, who may call it from a browser, who signs people in.

import { containers, queues, tables } from '../names.bicep'
import { defaultSettings, secretSettings } from 'settings.bicep'

@description('Name of the app.')
param name string

@description('Name of its plan. Flex Consumption has one app per plan.')
param planName string

@description('Azure region.')
param location string

@description('Tags.')
param tags object

@description('Resource id of the app\'s identity.')
param identityId string

@description('Client id of the app\'s identity.')
param identityClientId string

@description('Name of the host\'s own storage account.')
param hostStorageName string

@description('Address of the container that the deployed package lies in.')
param packageContainerUrl string

@description('Blob address of the wardrobe data.')
param dataBlobEndpoint string

@description('Queue address of the wardrobe data.')
param dataQueueEndpoint string

@description('Table address of the wardrobe data.')
param dataTableEndpoint string

@description('Where telemetry goes.')
param applicationInsightsConnectionString string

@description('How the host sends telemetry.')
param telemetryMode string

@description('Memory of one instance in MB.')
param instanceMemoryMB int

@description('Most instances a function group may scale out to.')
param maximumInstanceCount int

@description('Instances that are always warm.')
param alwaysReady array

@description('HTTP requests one instance takes at a time.')
param httpConcurrency int

@description('Origins of web pages that call the API.')
param allowedOrigins array

@description('Subnet to run in. Empty: none.')
param subnetId string

@description('Client id of the app registration for Easy Auth. Empty: callers bring keys.')
param authClientId string

@description('Tenant of that registration.')
param authTenantId string

@description('Audiences accepted in tokens.')
param authAllowedAudiences array

@description('App settings that differ from the defaults.')
param settings object

@secure()
@description('App settings that are secrets.')
param secrets object

var signIn = !empty(authClientId)

// Every connection names the credential and the client id: with an identity of our own the host needs both, for each prefix.
// The host's account goes by name and not by address, which is the form that all deployment tools understand.
var connectionSettings = {
  AzureWebJobsStorage__accountName: hostStorageName
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: identityClientId
  DRAFTS__blobServiceUri: dataBlobEndpoint
  DRAFTS__queueServiceUri: dataQueueEndpoint
  DRAFTS__tableServiceUri: dataTableEndpoint
  DRAFTS__credential: 'managedidentity'
  DRAFTS__clientId: identityClientId
  AZURE_CLIENT_ID: identityClientId
  APPLICATIONINSIGHTS_CONNECTION_STRING: applicationInsightsConnectionString
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  AzureFunctionsJobHost__telemetryMode: telemetryMode
}

var nameSettings = {
  UPLOADS_CONTAINER: containers.uploads
  IMAGES_CONTAINER: containers.images
  IMAGE_JOBS_QUEUE: queues.imageJobs
  IMAGE_JOBS_POISON_QUEUE: queues.imageJobsPoison
  WEBHOOKS_QUEUE: queues.webhooks
  EVENTS_QUEUE: queues.events
  DRAFTS_TABLE: tables.drafts
  DUE_TABLE: tables.due
  JOBRUNS_TABLE: tables.jobRuns
  DEADLETTERS_TABLE: tables.deadLetters
}

var identitySettings = {
  AUTH_MODE: signIn ? 'easyauth' : 'key'
}

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'api' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    clientAffinityEnabled: false
    keyVaultReferenceIdentity: identityId
    publicNetworkAccess: 'Enabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'python'
        version: '3.13'
      }
      scaleAndConcurrency: {
        alwaysReady: alwaysReady
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        triggers: {
          http: {
            perInstanceConcurrency: httpConcurrency
          }
        }
      }
    }
    siteConfig: {
      cors: {
        allowedOrigins: allowedOrigins
        supportCredentials: false
      }
      ftpsState: 'Disabled'
      http20Enabled: true
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
    }
  }

  // The whole collection: what is not in the template is gone after the next deployment.
  resource appSettings 'config' = {
    name: 'appsettings'
    properties: union(
      defaultSettings,
      settings,
      secretSettings,
      secrets,
      nameSettings,
      identitySettings,
      connectionSettings
    )
  }

  resource ftpPasswords 'basicPublishingCredentialsPolicies' = {
    name: 'ftp'
    properties: {
      allow: false
    }
  }

  resource deployPasswords 'basicPublishingCredentialsPolicies' = {
    name: 'scm'
    properties: {
      allow: false
    }
  }

  // Anonymous requests pass: health, docs and the contract are open, and all else answers 401 itself, as a problem document.
  resource authentication 'config' = if (signIn) {
    name: 'authsettingsV2'
    properties: {
      platform: {
        enabled: true
      }
      globalValidation: {
        requireAuthentication: false
        unauthenticatedClientAction: 'AllowAnonymous'
      }
      httpSettings: {
        requireHttps: true
      }
      identityProviders: {
        azureActiveDirectory: {
          enabled: true
          registration: {
            clientId: authClientId
            openIdIssuer: '${environment().authentication.loginEndpoint}${authTenantId}/v2.0'
          }
          validation: {
            allowedAudiences: empty(authAllowedAudiences) ? ['api://${authClientId}'] : authAllowedAudiences
          }
        }
      }
      login: {
        tokenStore: {
          enabled: false
        }
      }
    }
  }
}

output name string = app.name
output url string = 'https://${app.properties.defaultHostName}'
