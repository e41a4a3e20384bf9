<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- The share trees: first where the reader stands, then the rows of the trees, a page of them. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Shares</xsl:variable>
<xsl:variable name="here">/web/share</xsl:variable>

<xsl:template name="content">
	<xsl:if test="share/stand/item">
		<section><h2>Where you stand</h2>
			<xsl:for-each select="share/stand/item">
				<p class="sentence"><strong><xsl:value-of select="@account"/> on <xsl:value-of select="@cluster"/>, <xsl:value-of select="@pool"/>: </strong>
					<xsl:value-of select="@words"/><xsl:text> </xsl:text>
					<a href="/web/share?from={@from}#tree">In the tree<span class="hidden"> of <xsl:value-of select="@account"/>, <xsl:value-of select="@cluster"/>, <xsl:value-of select="@pool"/></span></a></p>
			</xsl:for-each>
		</section>
	</xsl:if>
	<section><h2 id="tree">The trees</h2>
	<p>Each account has a share of the cluster, and usage counts against it. <xsl:value-of select="share/@legend"/>
	<xsl:choose>
		<xsl:when test="share/@algorithm = 'classic'"><xsl:text> </xsl:text><a href="/web/share?algorithm=fair-tree#tree">By Fair Tree</a></xsl:when>
		<xsl:otherwise><xsl:text> </xsl:text><a href="/web/share?algorithm=classic#tree">By the classic score</a></xsl:otherwise>
	</xsl:choose></p>
	<div class="scroll" tabindex="0" role="region" aria-label="Shares">
	<table class="wide">
		<thead><tr><th scope="col">Account, user</th><th scope="col" class="figure">Level fairshare</th><th scope="col" class="figure">Fairshare</th>
			<th scope="col" class="figure">Shares</th><th scope="col" class="figure">Share of its level</th>
			<th scope="col">Usage of its level</th><th scope="col">Cluster</th><th scope="col">Pool</th></tr></thead>
		<tbody><xsl:apply-templates select="share/rows/item" mode="share"/></tbody>
	</table>
	</div>
	<p>
		<xsl:if test="asked/@from &gt; 0"><a href="/web/share?algorithm={share/@algorithm}#tree">First rows</a><xsl:text> </xsl:text></xsl:if>
		<xsl:if test="share/@next"><a href="/web/share?algorithm={share/@algorithm}&amp;from={share/@next}#tree">More rows</a></xsl:if>
	</p>
	<xsl:for-each select="share/gone/item">
		<p class="note"><xsl:value-of select="@cluster"/>, <xsl:value-of select="@pool"/>: usage of former users (<xsl:value-of select="f:count(@associations)"/>), who are no longer in the accounts, still counts for the account, or for the root.</p>
	</xsl:for-each></section>
</xsl:template>

<xsl:template match="item" mode="share">
	<xsl:variable name="stand" select="../../stand/item[@cluster = current()/@cluster and @pool = current()/@pool and @account = current()/@account]"/>
	<tr>
		<xsl:if test="$stand and (@user = '' or @user = /page/@user)"><xsl:attribute name="class">own</xsl:attribute></xsl:if>
		<th scope="row" class="name wide depth{@depth}"><xsl:choose>
			<xsl:when test="@user != ''"><xsl:value-of select="@user"/><xsl:if test="@user = /page/@user"> (you, place <xsl:value-of select="$stand/@place"/> of <xsl:value-of select="$stand/@users"/>)</xsl:if></xsl:when>
			<xsl:when test="@depth = 0"><strong><xsl:value-of select="@cluster"/>, <xsl:value-of select="@pool"/></strong> (all)</xsl:when>
			<xsl:otherwise><strong><xsl:value-of select="@account"/></strong><xsl:if test="$stand"> (yours)</xsl:if></xsl:otherwise>
		</xsl:choose></th>
		<td class="figure"><xsl:choose>
			<xsl:when test="@LevelFS = 'inf'">no usage</xsl:when>
			<xsl:when test="@LevelFS &gt; 1000">over 1,000</xsl:when>
			<xsl:when test="@LevelFS"><xsl:value-of select="format-number(@LevelFS, '0.000')"/></xsl:when>
			<xsl:otherwise>-</xsl:otherwise>
		</xsl:choose></td>
		<td class="figure"><xsl:choose>
			<xsl:when test="@FairShare"><xsl:value-of select="format-number(@FairShare, '0.000000')"/></xsl:when>
			<xsl:otherwise>-</xsl:otherwise>
		</xsl:choose></td>
		<td class="figure"><xsl:choose><xsl:when test="@depth = 0">-</xsl:when><xsl:otherwise><xsl:value-of select="@RawShares"/></xsl:otherwise></xsl:choose></td>
		<td class="figure"><xsl:choose><xsl:when test="@depth = 0">-</xsl:when><xsl:otherwise><xsl:value-of select="f:percent(@NormShares, 1)"/></xsl:otherwise></xsl:choose></td>
		<td><span class="pair"><xsl:value-of select="f:percent(@EffectvUsage, 1)"/></span>
			<xsl:call-template name="bar"><xsl:with-param name="part" select="@EffectvUsage"/><xsl:with-param name="whole" select="1"/></xsl:call-template></td>
		<td><xsl:value-of select="@cluster"/></td><td><xsl:value-of select="@pool"/></td>
	</tr>
</xsl:template>
</xsl:stylesheet>
