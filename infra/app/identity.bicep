// The one identity that the app acts as, and how a Kubernetes cluster may use it.

@description('Name of the identity.')
param name string

@description('Azure region.')
param location string

@description('Tags.')
param tags object

@description('OIDC issuer of the cluster whose service account may act as this identity. Empty: none.')
param issuer string

@description('The service account, as system:serviceaccount:<namespace>:<name>.')
param subject string

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: name
  location: location
  tags: tags
}

resource cluster 'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2024-11-30' = if (!empty(issuer)) {
  parent: identity
  name: 'kubernetes'
  properties: {
    issuer: issuer
    subject: subject
    audiences: ['api://AzureADTokenExchange']
  }
}

output id string = identity.id
output clientId string = identity.properties.clientId
output principalId string = identity.properties.principalId
