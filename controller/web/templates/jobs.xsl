<?xml version="1.0" encoding="UTF-8"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:import href="job_table.xsl"/>
<xsl:variable name="title">Jobs</xsl:variable>
<xsl:variable name="here">/web/jobs</xsl:variable>

<xsl:template name="content">
	<form method="get" action="/web/jobs" class="filter" role="search">
		<label>State
			<select name="state">
				<xsl:call-template name="option"><xsl:with-param name="value"/><xsl:with-param name="text">all</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">active</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">queued</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">running</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">suspended</xsl:with-param></xsl:call-template>
				<xsl:call-template name="option"><xsl:with-param name="value">ended</xsl:with-param></xsl:call-template>
			</select>
		</label>
		<label>Account <input name="account" size="12" value="{asked/@account}"/></label>
		<xsl:if test="@operator"><label>User <input name="user" size="10" value="{asked/@user}"/></label>
		<label>Node <input name="node" size="10" value="{asked/@node}"/></label></xsl:if>
		<button type="submit">Show</button>
	</form>
	<xsl:call-template name="job-table">
		<xsl:with-param name="jobs" select="jobs/jobs/item"/>
		<xsl:with-param name="none">No job matches.</xsl:with-param>
	</xsl:call-template>
	<xsl:variable name="last" select="jobs/jobs/item[last()]/@job"/>
	<xsl:if test="count(jobs/jobs/item) &gt;= 100">
		<p><a rel="next" href="/web/jobs?before={$last}&amp;state={f:encode(asked/@state)}&amp;account={f:encode(asked/@account)}&amp;user={f:encode(asked/@user)}&amp;node={f:encode(asked/@node)}">Older jobs</a></p>
	</xsl:if>
</xsl:template>

<xsl:template name="option">
	<xsl:param name="value"/>
	<xsl:param name="text" select="$value"/>
	<option value="{$value}">
		<xsl:if test="string(/page/asked/@state) = $value"><xsl:attribute name="selected">selected</xsl:attribute></xsl:if>
		<xsl:value-of select="$text"/>
	</option>
</xsl:template>
</xsl:stylesheet>
